"""What a command cannot use, as one kind of error.

A recipe, run, checkpoint, page or argument that cannot be used is told in one message and ends a
command with exit code 2. The errors of the modules derive from this one, so the command line need
not load them to know them.
"""

from __future__ import annotations


class Unusable(ValueError):
    """Something a command was given cannot be used; the message says what to change."""
