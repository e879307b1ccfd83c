"""Schedulers that run as Deployments: what a patch makes of one, and the second one that it brings.
Pure."""
