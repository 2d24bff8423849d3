"""Ask for a change, with evidence, expected effect and a window.

`--help` has examples; the work is done in `skill.commands.propose`.
"""

try:
    from skill.commands.propose import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
