"""What the kubelet demands of a pod, by area; each rule a function that yields findings.

All of them are careful with types: they run on whatever a file holds, beside ``podschema``, so
that every mistake in a file is told at once.
"""
