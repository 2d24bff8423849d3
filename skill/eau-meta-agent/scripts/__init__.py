"""Scripts: what a coding agent runs; each only calls the command of its name."""
