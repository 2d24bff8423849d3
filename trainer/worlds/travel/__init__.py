"""The travel world: learn what a traveller prefers, search, and choose the cheapest that fits."""
