"""`python -m gate`: the gate's command line."""

from gate.cli import main

if __name__ == "__main__":
    main()
