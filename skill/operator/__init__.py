"""Operators: meta-agents that are rules; they need no model and no network."""
