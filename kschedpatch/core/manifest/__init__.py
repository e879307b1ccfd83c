"""The scheduler's static-pod manifest: read, judged as the kubelet would, and changed."""
