"""Our own tasks of the tau2_airline world, and how they are made."""
