"""End-to-end tests: kschedpatch against a real kubeadm cluster."""
