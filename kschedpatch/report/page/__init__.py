"""A run as one HTML page (``--report``): values in, text out."""
