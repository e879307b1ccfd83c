"""Objects of the cluster: which come, which go, when they are ready. Pure."""
