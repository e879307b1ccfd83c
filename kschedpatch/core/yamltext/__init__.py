"""YAML as text with positions: read it as Kubernetes does, change it by splices, write it anew.

``reader`` turns text into nodes, ``goscalars`` gives plain scalars the meaning that the kubelet
gives them, ``splice`` changes a text with the least edits, ``emit`` writes what is ours.
"""
