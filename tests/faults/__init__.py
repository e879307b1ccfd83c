"""The fault matrix: each fault at each boundary of a transaction, on simulated nodes."""
