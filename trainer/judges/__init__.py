"""Judges: models that decide what a rule cannot, behind one protocol."""
