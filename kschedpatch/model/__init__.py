"""Values that the other layers pass around. Nothing here reads, writes or decides."""
