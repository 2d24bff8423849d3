"""What the tau2 worlds share: cases, databases, tools, replay, scoring, and the desk that plays."""
