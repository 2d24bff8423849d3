"""Options of the methods of credit that need groups of rollouts, with the papers' defaults.

Plain values that a recipe holds under `learner:`, such as `learner.faca.mode`. What they do stands
in each method's own file. This module knows nothing about tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FACA_MODES = ("aligned", "shifted", "random", "off")
FACA_INVALID = ("neutral", "exclude")
FACA_MAX_WEIGHT = 0.5
USERRL_TURNS = ("equalized", "r2g", "em", "naive")
USERRL_SCORES = ("sum", "r2g")


@dataclass(frozen=True)
class FacaOptions:
    """How a user's reactions become credit (`trainer.ppo.faca`)."""

    weight: float = 0.5
    """Share of the reaction's advantage beside the outcome's; within [-0.5, 0.5], the paper's cap.
    """
    mode: str = "aligned"
    """`aligned`; `shifted`: each reaction pays the segment after it; `random`: its sign is drawn;
    `off`: plain GRPO. All but the first are controls that should do worse."""
    invalid: str = "neutral"
    """An unusable label counts as reaction 0 (`neutral`) or as none (`exclude`)."""


@dataclass(frozen=True)
class UserRLOptions:
    """How turn rewards become credit (`trainer.ppo.userrl`)."""

    turn: str = "equalized"
    """`equalized`, `r2g`, `em` or `naive`: the shape of credit over the turns."""
    score: str = "r2g"
    """`sum` or `r2g`: what a trajectory is compared by."""
    gamma: float = 0.8
    """Discount from turn to turn of both `r2g`, in [0, 1]; no other method reads it."""
    em_rate: float = 2.0
    """Curvature k of `em`, above 0."""
    compat: bool = False
    """Let `sum` be the mean over turns, as the public code has it under that name."""


@dataclass(frozen=True)
class InfoPOOptions:
    """How information gain becomes credit (`trainer.ppo.infopo`)."""

    beta: float = 0.5
    """Weight of the information advantage before its gate, at least 0."""
    gate_temperature: float = 0.5
    """Spread of rewards, in their own units, at which the gate has fallen to 0.27; above 0."""
    placeholder: str = "No information found."
    """What every message of the masked feedback says."""
    compat: bool = False
    """Normalise over tokens and scale over the batch, as the public code does."""


def option_faults(faca: FacaOptions, userrl: UserRLOptions, infopo: InfoPOOptions) -> Iterator[str]:
    """Yield what the options may not say: field, value and limit."""
    for field, value, allowed in (
        ("faca.mode", faca.mode, FACA_MODES),
        ("faca.invalid", faca.invalid, FACA_INVALID),
        ("userrl.turn", userrl.turn, USERRL_TURNS),
        ("userrl.score", userrl.score, USERRL_SCORES),
    ):
        if value not in allowed:
            yield f"learner.{field} is {value!r}; it must be one of {', '.join(allowed)}"
    if not abs(faca.weight) <= FACA_MAX_WEIGHT:
        yield f"learner.faca.weight is {faca.weight}; it must lie within +-{FACA_MAX_WEIGHT}"
    if not 0 <= userrl.gamma <= 1:
        yield f"learner.userrl.gamma is {userrl.gamma}; it must lie in [0, 1]"
    if not userrl.em_rate > 0:
        yield f"learner.userrl.em_rate is {userrl.em_rate}; it must be above 0"
    if not infopo.beta >= 0:
        yield f"learner.infopo.beta is {infopo.beta}; it must be at least 0"
    if not infopo.gate_temperature > 0:
        yield f"learner.infopo.gate_temperature is {infopo.gate_temperature}; it must be above 0"
    if not infopo.placeholder.strip():
        yield "learner.infopo.placeholder is empty; write what stands for 'no information'"
