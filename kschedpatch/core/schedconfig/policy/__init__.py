"""The Policy of 1.22 and before: read, judged by that minor's rules, made a configuration."""
