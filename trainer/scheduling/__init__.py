"""A simulated fleet of engines: what stragglers and uneven episodes cost, and what helps.

Nothing here runs a model. It answers how rollouts should be scheduled on more nodes than anybody
has at hand, and it is told from seeds: the same seed gives the same table.
"""
