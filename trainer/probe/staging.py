"""Making a world ready to be probed: rules read, processes ordered, tasks drawn.

What the candidate's own files make impossible is a finding here, not an exception. Nothing of the
candidate is run in this process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.contract.findings import Finding
from gate.contract.knobs import Knobs
from gate.contract.paths import RunPaths
from trainer import run_folder
from trainer.probe import sampling
from trainer.probe.budget import Budget
from trainer.probe.outcome import finding
from trainer.probe.request import Request, Values
from trainer.probe.stored import Stored
from trainer.probe.subject import Subject, Version
from trainer.recipe import RunConfig, WorldConfig
from trainer.rollout import reward
from trainer.users import rule_file
from trainer.users.rule_file import RuleFileError
from trainer.users.rules import RuleSet
from trainer.users.seam import UserEngine
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.calls import Host
from trainer.worlds.declaration import (
    DeclarationError,
    WorldDeclaration,
    read_declaration,
)
from trainer.worlds.loading import load_world

LOADING = "loading"

MakeUser = Callable[[str, RuleSet], UserEngine]
"""Makes the engine that speaks for a world's users under a rule set."""


class Staged(NamedTuple):
    """A world that is ready, or why it is not."""

    subject: Subject | None
    findings: tuple[Finding, ...] = ()


def symbolic(world: str, rules: RuleSet) -> UserEngine:
    """Return the checkout's symbolic user."""
    return SymbolicUser({world: rules})


def recipe_of(request: Request) -> RunConfig:
    """Return the recipe of the run, or one of all worlds where there is none."""
    if request.run is None:
        return RunConfig("probe", worlds={name: WorldConfig() for name in request.worlds})
    return run_folder.read_launch(RunPaths(request.run))


def declared(request: Request, recipe: RunConfig) -> dict[str, WorldDeclaration]:
    """Return what the candidate's worlds declare, those left out that cannot be read."""
    found: dict[str, WorldDeclaration] = {}
    for name in recipe.worlds:
        with contextlib.suppress(DeclarationError):
            found[name] = read_declaration(request.new.world_root / name)
    return found


def stage(
    name: str,
    request: Request,
    setting: WorldConfig,
    hosts: Mapping[str, Host],
    budget: Budget,
    episodes: Sequence[Stored],
    *,
    most_tasks: int,
    make_user: MakeUser = symbolic,
) -> Staged:
    """Make one world ready.

    Args:
        name: The world.
        request: What is probed.
        setting: What the recipe says of the world.
        hosts: The hosts of the worlds' processes, by `new` and `old`.
        budget: The probe's time.
        episodes: What the run has stored, of all its worlds.
        most_tasks: Tasks to draw, at most.
        make_user: Makes the user's engine.
    """
    if name not in catalog.WORLDS:
        return Staged(None, (_unknown(name),))
    problems = _problems(name, request.new)
    if problems:
        return Staged(None, problems)
    every = sampling.tasks_of(name, setting)
    world = catalog.world(name)
    stored = tuple(one for one in episodes if one.world == name)
    ours, known = {one.id for one in stored}, {one.id for one in episodes}
    old = request.old
    subject = Subject(
        name=name,
        world=world,
        pinned=load_world(world.folder),
        tasks=sampling.draw(every, most_tasks, seed=request.seed),
        all_tasks=every,
        new=_version("new", name, request.new, setting, hosts["new"], make_user),
        old=None
        if old is None or _problems(name, old)
        else _version("old", name, old, setting, _old_host(name, request, hosts), make_user),
        seed=request.seed,
        budget=budget,
        stored=stored,
        cited=tuple(
            one
            for one in request.false_verdicts
            if one.episode in ours or (one.episode not in known and name == request.worlds[0])
        ),
    )
    return Staged(subject)


def _old_host(name: str, request: Request, hosts: Mapping[str, Host]) -> Host:
    """Return the host of what is in force; where the files are the same, one host serves both."""
    assert request.old is not None
    old, new = (values.world_root / name for values in (request.old, request.new))
    same = run_folder.folder_digest(old) == run_folder.folder_digest(new)
    return hosts["new" if same else "old"]


def _version(
    label: str, name: str, values: Values, setting: WorldConfig, host: Host, make_user: MakeUser
) -> Version:
    folder, settings = values.world_root / name, values.knobs
    rules = rule_file.load(folder / rule_file.FILE_NAME)
    return Version(
        label=label,
        folder=folder,
        host=host,
        user=make_user(name, rules),
        rules=rules,
        user_settings=settings.file("user", name),
        world_settings={
            "max_steps": int(settings.get("environment.max_steps", name)),
            "prompt_style": setting.prompt_style,
            "tool_deadline_s": _call_deadline_s(settings, name),
        },
        scheme=reward.scheme(settings.file("reward", name), scale=_scale(settings, name)),
        call_deadline_s=_call_deadline_s(settings, name),
    )


def _call_deadline_s(settings: Knobs, name: str) -> float:
    return min(
        float(settings.get("environment.tool_deadline_s", name)),
        float(settings.get("environment.turn_deadline_s", name)),
    )


def _scale(settings: Knobs, name: str) -> float:
    scales = settings.get("environment.per_world_scale") or {}
    return float(scales.get(name, 1.0))


def _problems(name: str, values: Values) -> tuple[Finding, ...]:
    """Return why the files of a world cannot be used."""
    folder = values.world_root / name
    try:
        read_declaration(folder)
        rule_file.load(folder / rule_file.FILE_NAME)
    except DeclarationError as error:
        return (finding(LOADING, f"{error}.", "Mend world.yaml.", path=f"world.{name}"),)
    except RuleFileError as error:
        file = f"world/{name}/{rule_file.FILE_NAME}"
        return tuple(
            finding(
                LOADING,
                f"{problem.place or 'the file'}: {problem.message}.",
                "Mend the user's rules.",
                file=file,
                line=problem.position.line,
                column=problem.position.column,
                path=f"world.{name}",
            )
            for problem in error.problems
        )
    return ()


def _unknown(name: str) -> Finding:
    return finding(
        LOADING,
        f"There is no world {name!r} in the catalog; there are {', '.join(catalog.WORLDS)}.",
        "Name one of these, or register the world in trainer/worlds/catalog.py.",
        path=f"world.{name[:64]}",
        value=name[:64],
    )
