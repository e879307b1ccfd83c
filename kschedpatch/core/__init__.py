"""Pure functions on values: what is decided here needs no node, no file and no clock."""
