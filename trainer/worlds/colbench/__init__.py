"""The colbench world: write a function for a colleague who knows more than they have said."""
