"""Our own tau2_telecom tasks: a carrier, its callers' troubles, and how they are made."""
