"""Turns values into what people and programs read. Nothing is decided here."""
