"""Runs code that a model wrote, where it can compute and do nothing else."""
