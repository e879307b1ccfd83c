"""The KubeSchedulerConfiguration: completed for a version, checked, and said to another minor."""
