"""Commands: the scripts of the skill, one module each; every one reads a run or writes a lesson."""
