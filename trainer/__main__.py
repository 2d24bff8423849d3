"""`python -m trainer` is `eau`; the process is set to one quiet OpenMP thread before torch loads.

Two spinning threads on a shared machine were measured up to twenty times slower.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# The settings above must stand before torch is loaded.
from trainer.cli import main

if __name__ == "__main__":
    main()
