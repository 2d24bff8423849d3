"""The tau2_telecom verifier: what a dialogue at the desk came to, from its turns alone.

What the user did on the phone is not recorded as such: it follows from the agent's words, and is
done again here. The components of the reward are `trainer.worlds.tau2.scoring`. Knows nothing
about prompts, shaping or user engines.
"""

from __future__ import annotations

from trainer.worlds.tau2.service import Service

from . import records  # noqa: TID252 - the folder is loaded by path
from .domain import DOMAIN  # noqa: TID252

SERVICE = Service(DOMAIN, agent=records.agent_records, user=records.user_records)
bases_of, rejudge = SERVICE.bases_of, SERVICE.rejudge
