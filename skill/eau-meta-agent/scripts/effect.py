"""Show what became of proposals, the verdicts, and what to do next.

`--help` has examples; the work is done in `skill.commands.effect`.
"""

try:
    from skill.commands.effect import main
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: run this with the checkout's .venv/bin/python") from error

if __name__ == "__main__":
    raise SystemExit(main())
