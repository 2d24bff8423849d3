"""The commands of `eau`, one module each.

A module here has one function, `command`: its arguments are the command's, its docstring the help.
It only reads arguments and prints. What loads a tensor library, which takes seconds, is imported in
the function, once the arguments are read: nobody waits for it to see a help page, a record or a
refusal. The table of all commands is in `trainer.cli`.
"""
