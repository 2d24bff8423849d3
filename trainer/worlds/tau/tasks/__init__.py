"""Makes our own tau tasks, with the shop and the airline they are about."""
