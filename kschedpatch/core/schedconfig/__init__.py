"""The KubeSchedulerConfiguration: completed for a version, and checked."""
