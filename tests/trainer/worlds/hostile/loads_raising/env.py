"""Its code raises when it is loaded."""

raise RuntimeError("no world today")
