"""Every error message of the tool: where it is built, the page that lists it, and whether a test
has reached it."""
