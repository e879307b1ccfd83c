"""The way to a node: connections, and calls of the script that acts there."""
