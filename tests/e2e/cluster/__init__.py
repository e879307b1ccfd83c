"""A real kubeadm cluster on one Linux machine, for the end-to-end tests."""
