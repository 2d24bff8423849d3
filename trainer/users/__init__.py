"""Users: whoever answers the agent, by rules, through a noisy channel, or by a model."""
