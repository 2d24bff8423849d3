"""Search what earlier runs taught, or write a lesson.

`--help` has examples; the work is done in `skill.commands.lesson`.
"""

try:
    from skill.commands.lesson import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
