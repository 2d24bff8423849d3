"""The persuasion world: somebody holds a claim, and arguments may move them."""
