"""What older weights wrote is corrected; what is too far off teaches the critic alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from trainer.ppo.config_check import check_config
from trainer.ppo.importance import within_gate
from trainer.ppo.learner import LearnConfig
from trainer.ppo.torch_learner import TorchLearner
from trainer.ppo.weights import named_tensors
from trainer.trajectory import Trajectory

PAID = 3
"""The trajectory whose log-probabilities are written wrong below; it is a rewarded one."""


def own_words(learner: TorchLearner, trajectories: list[Trajectory]) -> list[Trajectory]:
    """Return trajectories with the log-probabilities that the learner itself gives them."""
    told = []
    for one in trajectories:
        ids = torch.tensor([one.ids])
        with torch.no_grad():
            logprobs = learner.actor(input_ids=ids).logits[0, :-1].log_softmax(-1)
        own = [0.0, *logprobs.gather(-1, ids[0, 1:, None]).flatten().tolist()]
        acted = zip(own, one.action_mask, strict=True)
        told.append(replace(one, rollout_logprobs=tuple(p if acts else 0.0 for p, acts in acted)))
    return told


def far_off(trajectories: list[Trajectory], number: int, nats: float) -> list[Trajectory]:
    """Let the sampler have said something else about the actions of one trajectory."""
    wrong = trajectories[number]
    said = zip(wrong.rollout_logprobs, wrong.action_mask, strict=True)
    moved = tuple(logprob - nats * acts for logprob, acts in said)
    changed = list(trajectories)
    changed[number] = replace(wrong, rollout_logprobs=moved)
    return changed


def actor(learner: TorchLearner) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in learner.actor.parameters()])


@pytest.fixture
def aged(learner, settings) -> Callable[..., TorchLearner]:
    """Build a learner that has had one update, so that a batch of version 0 is old."""

    def build(batch: list[Trajectory], **changes) -> TorchLearner:
        subject = learner(**changes)
        subject.step(batch, settings(actor_lr=0.0, critic_lr=0.0))
        return subject

    return build


def test_a_row_passes_the_gate_by_the_mean_over_its_action_tokens():
    old = torch.tensor([[0.5, 0.2, 0.9], [0.5, 0.9, 0.9], [0.5, 0.2, 0.9]]).double().log()
    mu = torch.tensor([[0.4, 0.05, 0.9], [0.4, 0.9, 0.9], [0.4, 0.05, 0.9]]).double().log()
    acts = torch.tensor([[1, 1, 1], [1, 1, 1], [1, 0, 1]]).bool()
    # Means of k3: .546854 (oracle I1), .008952, .013428.
    assert within_gate(old, mu, acts, bound=0.5468).tolist() == [False, True, True]
    assert within_gate(old, mu, acts, bound=0.01).tolist() == [False, True, False]
    assert within_gate(old, mu, acts, bound=0.0089).tolist() == [False, False, False]
    assert within_gate(old, old, acts, bound=0.0).tolist() == [True, True, True]


def test_what_the_gate_drops_moves_the_actor_as_if_it_had_not_been_there(
    aged, settings, batch
) -> None:
    trajectories = batch()
    live = settings(entropy_coeff=0.01)
    # Whitening and credit look at the whole batch; without them the rest is the same rest.
    options = {"whiten": False, "minibatch_dialogues": 16}
    subject, other = aged(trajectories, **options), aged(trajectories, **options)
    own = own_words(subject, trajectories)
    found = subject.step(far_off(own, PAID, 0.5), live).metrics
    rest = [one for number, one in enumerate(own) if number != PAID]
    other.step(rest, live)
    assert torch.allclose(actor(subject), actor(other), atol=1e-6)
    assert found["stale_dropped"] == pytest.approx(1 / len(own))
    actions = [sum(one.action_mask) for one in own]
    assert found["stale_dropped_tokens"] == pytest.approx(actions[PAID] / sum(actions))


def test_the_critic_learns_from_what_the_actor_does_not(aged, settings, batch) -> None:
    trajectories = batch()
    subject, other = aged(trajectories), aged(trajectories, stale_gate=None)
    own = far_off(own_words(subject, trajectories), PAID, 0.5)
    subject.step(own, settings())
    other.step(own, settings())
    critics = [
        torch.cat(
            [t.detach().flatten() for t in named_tensors(one._trained["critic"].network).values()]
        )
        for one in (subject, other)
    ]
    assert torch.equal(*critics)
    assert not torch.equal(actor(subject), actor(other))


def test_a_batch_of_the_learners_own_weights_is_never_asked(learner, settings, batch) -> None:
    subject = learner()
    own = far_off(own_words(subject, batch()), PAID, 0.5)
    found = subject.step(own, settings()).metrics
    assert found["staleness_max"] == 0.0
    assert not [name for name in found if name.startswith("stale_dropped")]


def test_a_batch_that_is_dropped_whole_leaves_the_actor_where_it_was(
    learner, settings, batch
) -> None:
    subject = learner(weight_decay=0.0)
    # A learner without a past has no momentum that would carry it on.
    own = [replace(one, policy_version=-1) for one in own_words(subject, batch())]
    for number in range(len(own)):
        own = far_off(own, number, 0.5)
    before = actor(subject)
    found = subject.step(own, settings(entropy_coeff=0.01)).metrics
    assert found["stale_dropped"] == 1.0
    assert (found["policy_loss"], found["actor_grad_norm"]) == (0.0, 0.0)
    assert torch.equal(actor(subject), before)


def test_the_ratio_begins_at_one_and_the_gap_is_in_the_weights(aged, settings, batch) -> None:
    trajectories = batch()
    subject = aged(trajectories, stale_gate=None)
    own = own_words(subject, trajectories)
    for number in range(len(own)):
        own = far_off(own, number, 0.05)
    found = subject.step(own, settings()).metrics
    assert found["staleness_max"] == 1.0
    assert found["ratio_first_minibatch_max"] == pytest.approx(1.0, abs=1e-5)
    assert found["sampler_logprob_gap_mean"] == pytest.approx(0.05, abs=1e-5)
    assert "stale_dropped" not in found


def test_a_bound_below_nothing_is_refused() -> None:
    check_config(LearnConfig(stale_gate=0.0))
    with pytest.raises(ValueError, match=r"stale_gate is -0\.1"):
        check_config(LearnConfig(stale_gate=-0.1))
