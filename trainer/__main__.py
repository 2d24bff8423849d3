"""`python -m trainer` is `eau`."""

from trainer.cli import main

if __name__ == "__main__":
    main()
