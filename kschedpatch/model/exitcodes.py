"""Exit codes. 1 is kept for «differences found», so no failure may end in it by accident."""

OK = 0
DIFFERENCES = 1
INVALID = 2
#: Refused, unreachable or proven bad: nothing live was touched.
REFUSED = 3
#: Failed, rolled back, healthy.
ROLLED_BACK = 4
#: Failed and not restored.
NOT_RESTORED = 5
INTERNAL = 70
INTERRUPTED = 130
