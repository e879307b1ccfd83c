"""Change the scheduler of a live kubeadm cluster without ever losing it."""

__version__ = "0.1.0"
