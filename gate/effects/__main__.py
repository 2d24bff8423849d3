"""`python -m gate.effects`: how often the verdicts are right, by simulation."""

from gate.effects.simulation import main

if __name__ == "__main__":
    main()
