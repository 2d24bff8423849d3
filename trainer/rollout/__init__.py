"""Rollouts: policy, users and worlds brought together into episodes."""
