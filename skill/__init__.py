"""The skill: what a coding agent uses to watch and improve a run."""
