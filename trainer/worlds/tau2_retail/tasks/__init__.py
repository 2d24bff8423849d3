"""Our own tasks of the tau2_retail world, and how they are made."""
