"""One page about a run, as one file that loads nothing from anywhere."""
