"""The contract: the files, knobs and records that everyone may rely on."""
