"""How a run is, blame first.

`--help` has examples; the work is done in `skill.commands.status`.
"""

try:
    from skill.commands.status import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
