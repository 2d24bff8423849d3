"""Diagnosis: from the records of a run to who is to blame and what to look at next."""
