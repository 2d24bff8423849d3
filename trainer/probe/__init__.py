"""The probe: what a candidate world, its user's rules and its rewards do when they are tried."""
