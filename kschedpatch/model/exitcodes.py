"""Exit codes. 1 is kept for «differences found», so no failure may end in it by accident."""

OK = 0
DIFFERENCES = 1
INVALID = 2
INTERNAL = 70
INTERRUPTED = 130
