"""Looking at a run: what was in force, who put it there, what was found; read from its records."""
