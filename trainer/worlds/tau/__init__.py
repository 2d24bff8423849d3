"""The tau world: the desks of the older tau-bench, a shop and an airline, as UserGym plays them."""
