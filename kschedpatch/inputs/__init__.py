"""What users hand over: files on their disk and flags on their command line, made into values."""
