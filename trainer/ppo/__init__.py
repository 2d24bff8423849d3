"""PPO with a learned critic: numerics as pure functions, and the learner."""
