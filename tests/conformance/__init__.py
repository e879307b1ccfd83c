"""Generated configurations, judged by lint and by the real kube-scheduler of each minor."""
