"""Whole updates with the methods that compare groups: their gradient and their numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainer.ppo.evidence import GROUPED, SETTINGS
from tests.trainer.ppo.test_gradients import TERMS, assert_gradient, float64_model
from trainer.ppo.batch import pack
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.credit_options import FacaOptions, UserRLOptions
from trainer.ppo.learner import LearnConfig
from trainer.ppo.lessons import credit_batch, lessons_from
from trainer.ppo.objective import actor_loss
from trainer.ppo.scoring import score
from trainer.trajectory import Reaction, Trajectory

LAYOUTS = ("ooaaoaoo", "oaaoaooaa", "oaooaa", "ooaoaa")
ANSWERS = (
    (Reaction(1), Reaction(-1)),
    (Reaction(1), Reaction(0), Reaction(1)),
    (Reaction(-1),),
    (Reaction(0, valid=False), Reaction(1)),
)


def group(trajectory) -> list[Trajectory]:
    """Two tasks with two rollouts each, with all that any method of credit asks for."""
    return [
        trajectory(
            number,
            layout,
            reward=(1.0, 0.25, 0.0, 1.0)[number],
            reactions=answers,
            masked_feedback=((3, 4), (5,), (6, 6, 6)),
        )
        for number, (layout, answers) in enumerate(zip(LAYOUTS, ANSWERS, strict=True))
    ]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("grpo", {}),
        ("faca", {}),
        ("faca", {"faca": FacaOptions(mode="shifted")}),
        ("faca", {"faca": FacaOptions(mode="random")}),
        ("userrl", {"userrl": UserRLOptions(turn="r2g", score="sum")}),
        ("userrl", {"userrl": UserRLOptions(turn="em")}),
        ("infopo", {}),
    ],
)
def test_the_whole_loss_against_finite_differences(trajectory, name: str, changes: dict[str, Any]):
    """From trajectories to the loss on a two-layer model in float64, credit held constant."""
    actor, config = float64_model(), LearnConfig(credit=name, temperature=0.8, **changes)
    batch = pack(group(trajectory))
    scores = score(
        batch,
        actor,
        None,
        None,
        temperature=0.8,
        bootstrap_truncated=True,
        max_tokens=8192,
        masked_feedback=ESTIMATORS[name].needs_masked_feedback,
    )
    evidence = credit_batch(batch, scores, SETTINGS, config, seed=5)
    credit = ESTIMATORS[name].estimate(evidence, SETTINGS, config)
    lessons = lessons_from(batch, scores, credit, config)
    assert int((lessons.advantages_BT != 0).sum()) >= 10
    # A ratio of exactly 1 and one at an edge of the clip have no derivative: leave both.
    with torch.no_grad():
        for parameter in actor.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.02)

    def loss() -> torch.Tensor:
        return actor_loss(actor, lessons, TERMS, total_actions=lessons.num_actions)[0]

    assert_gradient(actor, loss)


@pytest.mark.parametrize("name", GROUPED)
def test_an_update_without_a_critic_learns_and_tells_its_numbers(
    learner, settings, trajectory, name
):
    made = learner(credit=name)
    before = made.fingerprint()
    stats = made.step(group(trajectory), settings())
    assert made.fingerprint() != before
    assert stats.metrics["credit_groups"] == 2.0
    assert "value_loss" not in stats.metrics
    assert all(torch.isfinite(torch.tensor(value)) for value in stats.metrics.values())


@pytest.mark.parametrize("name", GROUPED)
def test_a_batch_of_equals_leaves_the_weights_to_the_decay_alone(
    learner, settings, trajectory, name
):
    """Were advantages whitened, rows of a tied group would be paid for the other groups' luck."""
    rows = [
        trajectory(number, "ooaaooaa", reward=1.0, masked_feedback=((3, 3),), ids=range(1, 9))
        for number in (0, 1)
    ]
    made = learner(credit=name, weight_decay=0.0)
    before = made.fingerprint()
    stats = made.step(rows, settings())
    assert made.fingerprint() == before
    assert stats.metrics["credit_tied_groups"] == 1.0
    assert stats.metrics["actor_grad_norm"] == 0.0


def test_a_tied_group_learns_nothing_beside_one_that_differs(trajectory):
    rows = [trajectory(n, "ooaaooaa", reward=(1.0, 1.0, 1.0, 0.0)[n]) for n in range(4)]
    actor, config = float64_model(), LearnConfig(credit="grpo")
    batch = pack(rows)
    scores = score(
        batch, actor, None, None, temperature=1.0, bootstrap_truncated=True, max_tokens=8192
    )
    evidence = credit_batch(batch, scores, SETTINGS, config)
    credit = ESTIMATORS["grpo"].estimate(evidence, SETTINGS, config)
    lessons = lessons_from(batch, scores, credit, config)
    assert not lessons.advantages_BT[:2].any()
    assert bool(lessons.advantages_BT[2:][batch.action_mask_BT[2:]].all())


def test_off_trains_the_same_weights_as_grpo(learner, settings, trajectory):
    plain, off = learner(credit="grpo"), learner(credit="faca", faca=FacaOptions(mode="off"))
    aligned = learner(credit="faca")
    for _ in range(2):
        for made in (plain, off, aligned):
            made.step(group(trajectory), settings())
    assert off.fingerprint() == plain.fingerprint() != aligned.fingerprint()


def test_random_signs_differ_from_update_to_update_and_follow_the_learners_seed(
    learner, settings, trajectory
):
    def trained(seed: int) -> str:
        made = learner(credit="faca", seed=seed, faca=FacaOptions(mode="random"))
        for _ in range(2):
            made.step(group(trajectory), settings())
        return made.fingerprint()

    assert trained(7) == trained(7)
    assert len({trained(seed) for seed in range(4)}) > 1


def test_more_reactions_than_segments_are_refused(trajectory):
    with pytest.raises(ValueError, match="has 3 reactions for 2 segments"):
        pack([trajectory(0, reactions=(Reaction(1),) * 3)])


@pytest.mark.parametrize("name", GROUPED)
def test_the_better_of_two_rollouts_becomes_likelier_than_the_worse(
    learner, settings, trajectory, name
):
    rows = [
        trajectory(
            number,
            "ooaaooaa",
            reward=float(number == 0),
            reactions=(Reaction(1),),
            masked_feedback=((3,),),
        )
        for number in (0, 1)
    ]
    made, packed = learner(credit=name), pack(rows)

    def lead() -> float:
        found = score(
            packed, made.actor, None, None, temperature=1.0, bootstrap_truncated=True,
            max_tokens=8192,
        )  # fmt: skip
        first, second = found.old_logprobs_BT.sum(dim=1).tolist()
        return first - second

    before = lead()
    for _ in range(3):
        made.step(rows, settings())
    assert lead() > before + 0.01


@pytest.mark.parametrize("name", GROUPED)
def test_a_learner_without_a_critic_goes_on_bit_for_bit_from_its_files(
    learner, settings, trajectory, folder, name
):
    made = learner(credit=name, faca=FacaOptions(mode="random"))
    made.step(group(trajectory), settings())
    made.save(folder)
    made.step(group(trajectory), settings())
    again = learner(credit=name, seed=99, faca=FacaOptions(mode="random"))
    again.load(folder)
    again.step(group(trajectory), settings())
    assert again.fingerprint() == made.fingerprint()
