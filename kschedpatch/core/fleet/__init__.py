"""All nodes of a control plane together: plans, findings, targets. Pure functions on facts."""
