"""A configuration in the words of another minor: its meaning is taken out, and said anew."""
