"""The turtle world: a strange story, yes or no questions, and what lies behind it."""
