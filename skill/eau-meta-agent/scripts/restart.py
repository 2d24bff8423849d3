"""Ask that a run be launched again, for a fault that nothing else undoes.

`--help` has examples; the work is done in `skill.commands.restart`.
"""

try:
    from skill.commands.restart import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
