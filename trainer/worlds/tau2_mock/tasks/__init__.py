"""Our own tasks of the tau2_mock world, and how they are made."""
