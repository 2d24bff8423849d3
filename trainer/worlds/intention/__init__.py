"""The intention world: find out what a vague request leaves open, one question at a time."""
