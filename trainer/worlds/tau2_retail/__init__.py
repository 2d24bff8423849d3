"""The tau2_retail world: orders of a shop, cancelled, changed, returned and exchanged."""
