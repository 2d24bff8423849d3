"""The guard: the one door through which a running trainer takes up changes."""
