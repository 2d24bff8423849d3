"""The policy: models, chat templates and samplers."""
