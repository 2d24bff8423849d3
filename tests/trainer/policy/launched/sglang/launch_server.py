"""Stands where `python -m sglang.launch_server` looks: the fake as a process of its own."""

import sys

from tests.trainer.policy.sglang_fake import main

if __name__ == "__main__":
    main(sys.argv[1:])
