"""How long a cluster is without a scheduler while it is changed, by hand and by kschedpatch."""
