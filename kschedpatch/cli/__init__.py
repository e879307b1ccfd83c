"""The command line: flags in, a call, a rendered result. One file a command."""
