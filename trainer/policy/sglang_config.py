"""The recipe's `sampler:` section: which sampler writes the policy's turns, and how it is served.

Values alone. What a server does with them is not known here, and nothing here loads SGLang.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit


@dataclass(frozen=True)
class LaunchConfig:
    """Servers that the run starts itself, where `sampler.urls` names none."""

    replicas: int = 1
    """Servers side by side, each with the whole model; a dialogue stays with one of them."""
    python: str = "python"
    """Interpreter of the environment that holds SGLang, such as `.venv-sglang/bin/python`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of `sglang.launch_server` by name without the leading dashes; true is a bare flag,
    null and false leave it out. Model, address, port and weight version are the run's to set."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those of the trainer, such as CUDA_VISIBLE_DEVICES; `{replica}` in a value
    becomes the number of the server, from 0."""
    ready_s: float = 300.0
    """How long a server may take until it is healthy."""
    restarts: int = 3
    """How often the servers of a run may be started again in a row, with no turn written between,
    before the run gives up."""


@dataclass(frozen=True)
class AgreementConfig:
    """How close the sampler's log-probabilities must be to the learner's right after a sync."""

    prompts: int = 4
    """Dialogues that are continued for it."""
    tokens: int = 16
    """Tokens of each continuation."""
    mean: float | None = None
    """Largest mean of the absolute differences, in nats; null for the bound of the model's type."""
    most: float | None = None
    """Largest single one."""


@dataclass(frozen=True)
class SamplerConfig:
    """Who writes the policy's turns.

    Raises:
        ValueError: if an address cannot be used, or a number is out of its range.
    """

    kind: Literal["local", "sglang"] = "local"
    """`local`: the model in this process; `sglang`: one or several SGLang servers."""
    urls: Sequence[str] = ()
    """Running servers to join, such as `http://10.0.0.4:30000`; none: the run starts its own."""
    launch: LaunchConfig = LaunchConfig()
    weights: Literal["tensor", "distributed", "disk"] = "tensor"
    """How new weights travel: inside the request (same node), broadcast in a process group
    (across nodes), or through files. Where one of the first two fails, files are the way out."""
    exchange: str | None = None
    """Folder that the servers can read, for weights on disk; null for a temporary one here."""
    deadline_s: float = 300.0
    """For one turn, from the request to its last token; past it the turn is aborted and its
    episode quarantined."""
    control_s: float = 120.0
    """For everything else that is asked of a server: pause, flush, new weights."""
    agreement: AgreementConfig = AgreementConfig()

    def __post_init__(self) -> None:
        for url in self.urls:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
                raise ValueError(f"sampler.urls: {url!r} must be http(s)://host:port")
        if len(set(self.urls)) != len(self.urls):
            raise ValueError("sampler.urls: an address stands there twice; name each server once")
        numbers = {
            "launch.replicas": self.launch.replicas,
            "launch.ready_s": self.launch.ready_s,
            "deadline_s": self.deadline_s,
            "control_s": self.control_s,
            "agreement.prompts": self.agreement.prompts,
            "agreement.tokens": self.agreement.tokens,
        }
        for name, number in numbers.items():
            if number <= 0:
                raise ValueError(f"sampler.{name} is {number}; it must be above 0")
