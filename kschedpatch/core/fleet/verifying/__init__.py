"""verify: each family of checks is a pure function of what was seen."""
