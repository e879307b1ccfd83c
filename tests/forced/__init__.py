"""Manifests that the planner would never let through, brought to nodes all the same: what the node
half and the kubelet make of them is the point. For real nodes and for simulated ones."""
