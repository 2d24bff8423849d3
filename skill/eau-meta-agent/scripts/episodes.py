"""Dialogues of a run, as data.

`--help` has examples; the work is done in `skill.commands.episodes`.
"""

try:
    from skill.commands.episodes import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
