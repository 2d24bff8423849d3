"""The search world: a question whose answer stands in documents that must be found."""
