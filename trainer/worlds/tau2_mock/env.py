"""The tau2_mock world: the desk of the task list, with its tools, data and policy.

How a desk works is `trainer.worlds.tau2.desk`; what an ending is worth is `verifier`'s word.
"""

from __future__ import annotations

from .verifier import SERVICE  # noqa: TID252 - the folder is loaded by path

prepare, make = SERVICE.prepare, SERVICE.make
