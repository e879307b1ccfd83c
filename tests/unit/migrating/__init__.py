"""Policies, conversions between versions of the configuration, and the command migrate."""
