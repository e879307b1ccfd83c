"""What is asked of the API server, through a control-plane node's kubectl."""
