"""Tracking: a run's records, followed into a tracker by a process of its own."""
