"""The tau2_mock world: a list of tasks, its users, and the inbox of the one who calls."""
