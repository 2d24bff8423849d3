"""A stand-in world: another world's episode, after one that the same process played before."""
