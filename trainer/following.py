"""Following: the other ranks of a run, made ready by what rank 0 tells them and ended by it.

A rank that follows reads models, worlds and checkpoints from the places that rank 0 names, so on
several machines these lie on a file system that all share. It writes nothing and leaves signals to
rank 0. This module knows nothing about knobs or records.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gate.contract.paths import RunPaths
from trainer import assembly, endpoints, preflight
from trainer.crew import End, Leader, LeadingLearner, Ranks, follow_orders
from trainer.loop import Ending
from trainer.policy.build import Policy
from trainer.policy.sampler import Sampler
from trainer.policy.sglang_following import FollowingSampler
from trainer.policy.sglang_sampler import SglangSampler
from trainer.ppo.deepspeed_options import launched_rank
from trainer.ppo.learner import Learner
from trainer.recipe import RunConfig
from trainer.rollout.collect import Rollout, collect
from trainer.run_folder import LaunchError
from trainer.users.spending import Meter


@dataclass(frozen=True)
class Muster:
    """What rank 0 tells the others before the first order."""

    config: RunConfig
    root: Path
    checkpoint: Path | None
    """The checkpoint that the run goes on from; None for a new run."""
    policy: Policy | None
    """The policy, where it was made in the run; others are read from where they lie."""


def follow_where_not_first(config: RunConfig) -> Ending | None:
    """Be one of the other ranks, if that is what this process is; returns how the run ended.

    None for the process that runs the run: rank 0, the only one, or one whose recipe will be
    refused.
    """
    if launched_rank() == 0 or any(True for _ in preflight.backend_faults(config)):
        return None
    assembly.quiet()
    ranks = assembly.join_ranks(config)
    return None if ranks is None else follow(ranks)


def require_first(config: RunConfig) -> None:
    """Make sure that this process may run a run.

    Raises:
        LaunchError: on another rank than 0.
    """
    if config.backend == "deepspeed" and launched_rank():
        raise LaunchError(
            f"rank {launched_rank()} cannot run a run of its own; on several ranks use `eau train` "
            "or `eau resume`"
        )


def muster(
    ranks: Ranks | None,
    paths: RunPaths,
    config: RunConfig,
    policy: Policy,
    checkpoint: Path | None,
) -> None:
    """Tell the other ranks what run they are in; nothing where there are none."""
    if ranks is None or ranks.size == 1:
        return
    made_here = checkpoint is None and config.policy.kind == "small"
    root = paths.root.resolve()
    saved = None if checkpoint is None else checkpoint.resolve()
    ranks.broadcast(Muster(config, root, saved, policy if made_here else None))


def leading(learner: Learner, ranks: Ranks | None) -> Learner:
    """Return the learner that rank 0 uses; with other ranks, one that orders them."""
    return learner if ranks is None or ranks.size == 1 else LeadingLearner(learner, ranks)


def together(ranks: Ranks | None, meter: Meter, sampler: Sampler) -> Callable[..., Rollout]:
    """Return what plays the episodes of a step: this process, or all ranks.

    Args:
        ranks: Who there is.
        meter: Counts what all ranks ask of the users' endpoint.
        sampler: Rank 0's; where it keeps servers, these write for all ranks.
    """
    if ranks is None or ranks.size == 1:
        return collect
    return Leader(ranks, meter, sampler if isinstance(sampler, SglangSampler) else None)


def dismiss(ranks: Ranks | None, ending: Ending) -> None:
    """Send the other ranks home."""
    if ranks is not None and ranks.size > 1:
        ranks.broadcast(End(ending.value))


def follow(ranks: Ranks) -> Ending:
    """Be one of the other ranks of a run, from its start to its end."""
    # The launcher passes a signal on to every rank; rank 0 ends the run with a checkpoint.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    told: Muster = ranks.broadcast()
    config, paths = told.config, RunPaths(told.root)
    learner, policy = _ready(told, paths)
    elsewhere = _elsewhere(config, policy, ranks)
    sampler = elsewhere or assembly.make_sampler(config, policy, learner.policy_version)
    meter = endpoints.make_meter(config.users.endpoint)
    with ExitStack() as stack:
        stack.callback(sampler.close)
        places = stack.enter_context(
            assembly.make_places(config, paths.world_revision, meter=meter)
        )
        scene = assembly.make_scene(config, policy, sampler, places)
        return Ending(follow_orders(ranks, scene, learner, meter, servers=elsewhere))


def _elsewhere(config: RunConfig, policy: Policy, ranks: Ranks) -> FollowingSampler | None:
    """Return this rank's way to the servers that rank 0 keeps; None where it keeps none."""
    if config.sampler.kind != "sglang":
        return None
    stop_ids, most = policy.chat.stop_ids, config.rollout.context_tokens
    return FollowingSampler(stop_ids, config.sampler, rank=ranks.rank, max_tokens=most)


def _ready(told: Muster, paths: RunPaths) -> tuple[Learner, Policy]:
    """Return this rank's part of the learner, and its policy."""
    if told.policy is not None:
        policy = told.policy
    elif told.checkpoint is not None:
        policy = assembly.saved_policy(told.checkpoint)
    else:
        policy = assembly.new_policy(told.config, [], lambda what, done, total: None)
    learner = assembly.make_learner(
        told.config,
        policy,
        checkpoint=told.checkpoint,
        reference=True,
        origin=None if told.checkpoint is None else paths.checkpoint(0),
    )
    return learner, policy
