"""The gate: the trusted base that decides what comes into force."""
