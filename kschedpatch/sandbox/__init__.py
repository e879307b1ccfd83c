"""Throwaway control-plane nodes: a real file tree and real shell, a simulated kubelet."""
