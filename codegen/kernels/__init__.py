"""Kernel files: what they say, which one a call takes, how its weights lie, and its C text."""
