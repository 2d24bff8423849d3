"""What is probably wrong with a run, by which records.

`--help` has examples; the work is done in `skill.commands.diagnose`.
"""

try:
    from skill.commands.diagnose import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
