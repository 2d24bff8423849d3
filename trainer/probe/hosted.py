"""A world in a process of its own, as the `Env` that a scripted episode plays in.

Every call comes back by its deadline; a world that fails raises one typed error here, with a
detail that is safe to print. The candidate's code never runs in this process.
"""

from __future__ import annotations

from typing import TypeVar

from trainer.message import Action, Reply
from trainer.worlds.calls import Act, Call, Fault, Hear, Host, Judge, Start
from trainer.worlds.seam import Opening, StepResult, Verdict

_Kind = TypeVar("_Kind", Opening, StepResult, Verdict)


class WorldFaulted(Exception):
    """A world raised, died, hung, flooded or answered nonsense."""

    def __init__(self, fault: Fault) -> None:
        """Keep the fault as a value."""
        self.fault = fault
        super().__init__(f"{fault.stop}: {fault.detail}")


class HostedEnv:
    """One open episode of a host; see `trainer.worlds.seam.Env`."""

    def __init__(self, host: Host, key: str, deadline_s: float) -> None:
        """Speak for an episode that `host` has open under `key`."""
        self._host, self._key, self._deadline_s = host, key, deadline_s

    def start(self) -> Opening:
        """Begin the dialogue."""
        return self._ask(Start(), Opening)

    def act(self, action: Action) -> StepResult:
        """Carry out one move of the agent."""
        return self._ask(Act(action), StepResult)

    def hear(self, reply: Reply) -> StepResult:
        """Take note of the user's reply."""
        return self._ask(Hear(reply), StepResult)

    def verdict(self) -> Verdict:
        """Judge the state."""
        return self._ask(Judge(), Verdict)

    def _ask(self, call: Call, kind: type[_Kind]) -> _Kind:
        result = self._host.call({self._key: call}, deadline_s=self._deadline_s)[self._key]
        if isinstance(result, Fault):
            raise WorldFaulted(result)
        assert isinstance(result, kind), "a host answers each call with its own kind of result"
        return result
