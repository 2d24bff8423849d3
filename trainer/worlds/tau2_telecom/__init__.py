"""The tau2_telecom world: a carrier's desk for lines, bills, and phones that only users touch."""
