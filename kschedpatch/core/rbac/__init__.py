"""Rights for the scheduler: own objects beside Kubernetes' roles, never edits of those."""
