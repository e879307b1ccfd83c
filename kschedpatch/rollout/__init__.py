"""Carries a plan out on all nodes, and back: the transaction, the roll-out, the rollback."""
