"""Its code never finishes loading."""

import time

time.sleep(3600)
