"""The rules a change must satisfy, one per file."""
