"""Our own colbench tasks and what makes them; never copied into a run."""
