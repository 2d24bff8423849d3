"""It has no function `make`."""

WORLD = None
