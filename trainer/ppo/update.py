"""One PPO update, whoever holds the weights: score, estimate credit, learn.

Every learner trains through these two functions. Peers compute the same lessons from the same
batch, so credit, baselines and whitening are those of the whole batch however many processes share
the passes. This module knows nothing about where weights live or how they are saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer import seeds
from trainer.ppo.batch import pack
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.epochs import Plan, run_epochs
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.lessons import Lessons, credit_batch, lessons_from
from trainer.ppo.objective import ActorTerms
from trainer.ppo.peers import ALONE, Peers
from trainer.ppo.recompute import recomputing
from trainer.ppo.schedules import lr_factor
from trainer.ppo.scoring import score
from trainer.ppo.trained import Networks
from trainer.ppo.update_report import batch_metrics, dropped
from trainer.trajectory import Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Update:
    """One update about to be made: what is fixed, what is live, and its place in the run."""

    config: LearnConfig
    settings: LearnSettings
    seed: int
    """The learner's seed."""
    version: int
    """Updates made before this one."""
    peers: Peers = ALONE

    @property
    def trains_actor(self) -> bool:
        """False while only the critic learns."""
        return self.version >= self.config.critic_warmup_steps

    def takes_several_steps(self, num_rows: int) -> bool:
        """Whether a batch of so many trajectories means more than one optimizer step."""
        return self.settings.ppo_epochs > 1 or num_rows > self.config.minibatch_dialogues


def prepare(
    update: Update,
    networks: Networks,
    reference: PreTrainedModel | None,
    trajectories: Sequence[Trajectory],
    *,
    device: str,
) -> tuple[Lessons, dict[str, float]]:
    """Score a batch and settle what it teaches; no weight changes.

    Args:
        update: The update.
        networks: What will learn.
        reference: The policy to stay near, if the run has one.
        trajectories: Finished episodes, at least one; the same for every peer.
        device: Where the networks are.

    Returns:
        The lessons, and what the batch says of itself.

    Raises:
        ValueError: if a trajectory breaks the token-stream contract, or `kl_coeff` asks for a
            reference that is not there.
        FloatingPointError: if a score is not finite.
    """
    config, settings = update.config, update.settings
    if settings.kl_coeff and reference is None:
        raise ValueError(
            f"agent.kl_coeff is {settings.kl_coeff}, but the run has no reference model; "
            "start it with one, or set kl_coeff to 0"
        )
    estimator = ESTIMATORS[config.credit]
    batch = pack(trajectories, device=device)
    scores = score(
        batch,
        networks.actor.network,
        networks.critic.network if networks.critic else None,
        reference,
        temperature=config.temperature,
        bootstrap_truncated=config.bootstrap_truncated,
        max_tokens=config.micro_batch_tokens,
        masked_feedback=estimator.needs_masked_feedback,
        peers=update.peers,
    )
    seed = seeds.derive(update.seed, "credit", update.version)
    evidence = credit_batch(batch, scores, settings, config, seed=seed)
    credit = estimator.estimate(evidence, settings, config)
    staleness = update.version - min(one.policy_version for one in trajectories)
    lessons = lessons_from(batch, scores, credit, config, stale=staleness > 0)
    report = batch_metrics(batch, scores, credit, lessons, tis_cap=config.tis_cap)
    report["staleness_max"] = float(staleness)
    if staleness > 0 and config.stale_gate is not None:
        report |= dropped(lessons)
    return lessons, report


def learn(update: Update, networks: Networks, lessons: Lessons) -> dict[str, float]:
    """Take the gradient steps at the scheduled rates; returns what they measured.

    Raises:
        FloatingPointError: at the first loss or gradient that is not finite; the caller puts the
            weights back.
    """
    config, settings = update.config, update.settings
    rates = _set_rates(update, networks)
    plan = Plan(
        epochs=settings.ppo_epochs,
        minibatch_dialogues=config.minibatch_dialogues,
        micro_batch_tokens=config.micro_batch_tokens,
        max_grad_norm=config.max_grad_norm,
        value_clip=config.value_clip,
        train_actor=update.trains_actor,
    )
    terms = ActorTerms(
        clip_low=settings.clip_low,
        clip_high=settings.clip_high,
        dual_clip=config.dual_clip,
        entropy_coeff=settings.entropy_coeff,
        kl_loss_coeff=settings.kl_coeff if config.kl_mode == "loss" else 0.0,
        temperature=config.temperature,
    )
    again = [one.network for _, one in networks.named()] if config.recompute_activations else []
    with recomputing(*again):
        found = run_epochs(
            networks,
            lessons,
            terms,
            plan,
            seed=update.seed,
            version=update.version,
            peers=update.peers,
        )
    return found | rates


def _set_rates(update: Update, networks: Networks) -> dict[str, float]:
    """Set the optimizers' rates for this update and return what they then hold."""
    config, settings = update.config, update.settings
    factor = lr_factor(
        config.lr_schedule,
        update.version,
        warmup=config.lr_warmup_steps,
        decay=config.lr_decay_steps,
    )
    live = {
        "actor": settings.actor_lr if update.trains_actor else 0.0,
        "critic": settings.critic_lr,
    }
    rates: dict[str, float] = {}
    for name, trained in networks.named():
        trained.set_rate(live[name] * factor)
        rates[f"{name}_lr"] = trained.rate
    return rates
