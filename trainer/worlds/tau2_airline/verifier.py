"""The tau2_airline verifier: what a dialogue at the desk came to, from its turns alone.

The components of the reward are `trainer.worlds.tau2.scoring`. Knows nothing about prompts,
shaping or user engines.
"""

from __future__ import annotations

from trainer.worlds.tau2.service import Service

from .tools import DOMAIN, shape  # noqa: TID252 - the folder is loaded by path

SERVICE = Service(DOMAIN, agent=shape)
bases_of, rejudge = SERVICE.bases_of, SERVICE.rejudge
