"""All checks in order, and what they add up to.

A check that breaks is a bug of the check and is raised; what it looks at never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from trainer import memory_plan
from trainer.doctor import machine, models, places, plan, services, worlds
from trainer.doctor.finding import Check, Finding, Gpu, Level, Patient

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "python": machine.python,
        "packages": machine.packages,
        "threads": machine.threads,
        "memory": machine.memory,
        "gpus": machine.gpus,
        "runs": places.runs,
        "disk": places.disk,
        "orphans": places.orphans,
        "unfinished": places.unfinished,
        "evaluations": places.evaluations,
        "recipe": worlds.recipe,
        "tasks": worlds.tasks,
        "judge": worlds.judge,
        "knobs": worlds.knobs,
        "policy": models.policy,
        "chat_template": models.chat_template,
        "plan": plan.fit,
        "keys": services.keys,
        "endpoints": services.endpoints,
        "samplers": services.samplers,
        "ports": services.ports,
    }
)
"""Every check by its name, in the order of a report."""

NOT_CHECKED: Sequence[str] = (
    "whether weights are whole, and load: that takes as long as a start of the run",
    "whether a served model plays its part: nothing is generated",
    "whether a rate limit or a balance lasts for the run",
)
"""What no check can know, told with every report of a recipe."""


def examine(patient: Patient) -> list[Finding]:
    """Return what all checks found, in order."""
    return [finding for check in CHECKS.values() for finding in check(patient)]


def seen_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that the tensor library sees in this process."""
    if not torch.cuda.is_available():
        return ()
    found = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        found.append(Gpu(torch.cuda.get_device_name(index), total, free))
    return tuple(found)


def is_fit(findings: Sequence[Finding]) -> bool:
    """Whether a run may start: there is no fault."""
    return all(finding.level is not Level.FAULT for finding in findings)


def to_json(patient: Patient, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a report as JSON values.

    Args:
        patient: Who was looked at.
        findings: What was found.
    """
    planned = plan.plan_of(patient.config) if patient.config else None
    return {
        "recipe": patient.config and patient.config.name,
        "fit": is_fit(findings),
        "findings": [
            {"check": one.check, "level": one.level.value, "told": one.told} for one in findings
        ],
        "plan": planned and [part._asdict() for part in planned.parts],
        "not_checked": list(NOT_CHECKED) if patient.config else [],
    }


def plan_lines(patient: Patient) -> Sequence[str]:
    """Return the memory plan of a patient's recipe as lines; none without a plan."""
    planned = plan.plan_of(patient.config) if patient.config else None
    if planned is None or patient.config is None:
        return ()
    hardware = patient.config.hardware
    size = round(hardware.gpu_memory_gib * 2**30) if hardware.gpus else None
    return memory_plan.lines(planned, gpu_bytes=size)
