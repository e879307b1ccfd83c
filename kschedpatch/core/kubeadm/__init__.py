"""What kubeadm has to be told so that its next rendering of the manifest keeps a change."""
