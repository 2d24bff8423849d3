"""The trainer: worlds, users, a policy, and PPO under knobs that change while it runs."""
