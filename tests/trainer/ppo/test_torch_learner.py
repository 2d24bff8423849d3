"""An update does what its settings say, in any cut of the batch, or does nothing at all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from trainer.episode import StopReason
from trainer.ppo.learner import LearnConfig
from trainer.ppo.torch_learner import TorchLearner
from trainer.ppo.weights import named_tensors


def weights(learner: TorchLearner) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in learner.actor.parameters()])


def logprob(learner: TorchLearner, trajectory) -> float:
    """Return the summed log-probability of a trajectory's actions."""
    ids = torch.tensor([trajectory.ids])
    with torch.no_grad():
        logprobs = learner.actor(input_ids=ids).logits[:, :-1].log_softmax(-1)
    chosen = logprobs.gather(-1, ids[:, 1:, None]).squeeze(-1)
    return float(chosen[torch.tensor([trajectory.action_mask])[:, 1:]].sum())


def test_rewarded_actions_become_likelier_than_unrewarded_ones(learner, settings, batch):
    subject, trajectories = learner(), batch()
    before = [logprob(subject, one) for one in trajectories]
    for _ in range(5):
        subject.step(trajectories, settings())
    gained = [logprob(subject, one) - old for one, old in zip(trajectories, before, strict=True)]
    paid = [gain for gain, one in zip(gained, trajectories, strict=True) if sum(one.rewards)]
    unpaid = [gain for gain, one in zip(gained, trajectories, strict=True) if not sum(one.rewards)]
    assert min(paid) > max(unpaid)


def test_the_critic_learns_the_returns(learner, settings, batch):
    subject, trajectories = learner(value_clip=None, bootstrap_truncated=False), batch()
    first = subject.step(trajectories, settings()).metrics
    for _ in range(30):
        last = subject.step(trajectories, settings(actor_lr=0.0)).metrics
    assert first["explained_variance"] == 0.0
    assert last["value_loss"] < 0.3 * first["value_loss"]
    assert last["explained_variance"] > 0.5


def test_every_number_reported_is_finite_and_the_promised_ones_are_there(learner, settings, batch):
    stats = learner(reference=True).step(batch(), settings(kl_coeff=0.01, entropy_coeff=0.01))
    promised = """policy_loss value_loss entropy kl clip_fraction explained_variance
        actor_grad_norm critic_grad_norm actor_lr critic_lr num_action_tokens
        sampler_logprob_gap_mean sampler_logprob_gap_max ratio_first_minibatch_max"""
    assert set(promised.split()) <= set(stats.metrics)
    assert all(math.isfinite(value) for value in stats.metrics.values())
    assert stats.score_s > 0
    assert stats.learn_s > 0


def test_the_gap_to_the_sampler_is_measured_over_action_tokens(learner, settings, trajectory):
    subject = learner()
    one = trajectory(1, "oaaooa")
    ids = torch.tensor([one.ids])
    with torch.no_grad():
        logprobs = subject.actor(input_ids=ids).logits[:, :-1].log_softmax(-1)
    own = logprobs.gather(-1, ids[:, 1:, None]).flatten().tolist()
    sampled = [0.0, own[0], own[1] - 0.3, 0.0, 0.0, own[4] + 0.1]
    found = subject.step([replace(one, rollout_logprobs=tuple(sampled))], settings()).metrics
    assert found["sampler_logprob_gap_max"] == pytest.approx(0.3, abs=1e-5)
    assert found["sampler_logprob_gap_mean"] == pytest.approx(0.4 / 3, abs=1e-5)


def test_the_first_minibatch_starts_from_a_ratio_of_one(learner, settings, batch):
    subject = learner(minibatch_dialogues=2, micro_batch_tokens=20)
    found = subject.step(batch(), settings(actor_lr=1e-2)).metrics
    assert found["ratio_first_minibatch_max"] == pytest.approx(1.0, abs=1e-5)
    assert found["ratio_max"] > 1.001
    assert found["optimizer_steps"] == 4


@pytest.mark.parametrize("tokens", [1, 20, 50])
@pytest.mark.parametrize("unit", ["token", "turn", "bilevel"])
def test_the_size_of_a_pass_does_not_change_the_update(learner, settings, batch, tokens, unit):
    options = {"minibatch_dialogues": 4, "gae_unit": unit}
    whole, cut = learner(**options), learner(micro_batch_tokens=tokens, **options)
    live = settings(entropy_coeff=0.01, ppo_epochs=2)
    one, other = whole.step(batch(), live), cut.step(batch(), live)
    assert torch.allclose(weights(whole), weights(cut), atol=2e-6)
    for name in ("policy_loss", "value_loss", "entropy", "actor_grad_norm", "explained_variance"):
        assert one.metrics[name] == pytest.approx(other.metrics[name], rel=1e-3, abs=1e-6)


def test_the_order_of_trajectories_does_not_change_an_update_of_one_minibatch(
    learner, settings, batch
):
    forward, backward = learner(), learner()
    forward.step(batch(), settings())
    backward.step(batch()[::-1], settings())
    assert torch.allclose(weights(forward), weights(backward), atol=2e-6)


def test_the_same_seed_gives_the_same_bits_and_another_shuffles_otherwise(learner, settings, batch):
    prints = []
    for seed in (7, 7, 8):
        subject = learner(seed=seed, minibatch_dialogues=2)
        subject.step(batch(), settings())
        prints.append(subject.fingerprint())
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


def test_a_batch_of_one_trajectory_works(learner, settings, trajectory):
    for layout in ("oa", "oaaaaaaaaaaaa"):
        found = learner().step([trajectory(1, layout)], settings()).metrics
        assert all(math.isfinite(value) for value in found.values())


def test_equal_rewards_give_a_finite_update(learner, settings, trajectory):
    trajectories = [trajectory(number, reward=1.0) for number in range(4)]
    found = learner().step(trajectories, settings()).metrics
    assert all(math.isfinite(value) for value in found.values())


def test_a_learning_rate_times_a_hundred_changes_the_fingerprint(learner, settings, batch):
    prints = set()
    for rate in (1e-5, 1e-3):
        subject = learner()
        subject.step(batch(), settings(actor_lr=rate))
        prints.add(subject.fingerprint())
    assert len(prints) == 2


def test_the_reported_rates_are_the_schedule_times_the_live_knob(learner, settings, batch):
    subject = learner(lr_schedule="linear", lr_warmup_steps=2, lr_decay_steps=6)
    live = [1e-3, 1e-3, 1e-3, 1e-4, 1e-4]
    reported = [
        subject.step(batch(2), settings(actor_lr=rate)).metrics["actor_lr"] for rate in live
    ]
    assert reported == pytest.approx([5e-4, 1e-3, 1e-3, 7.5e-5, 5e-5])


@pytest.mark.parametrize(
    ("knob", "value", "metric"),
    [
        ("gae_lambda", 0.5, "advantage_std"),
        ("gamma", 0.5, "return_mean"),
        ("ppo_epochs", 3, "optimizer_steps"),
        ("critic_lr", 1e-4, "critic_lr"),
    ],
)
def test_a_live_knob_changes_the_update_of_a_fixed_rollout(
    learner, settings, batch, knob, value, metric
):
    before = learner().step(batch(), settings()).metrics
    after = learner().step(batch(), settings(**{knob: value})).metrics
    assert before[metric] != pytest.approx(after[metric], rel=1e-3)


@pytest.mark.parametrize(
    ("knob", "value"), [("clip_low", 0.01), ("clip_high", 0.01), ("entropy_coeff", 0.05)]
)
def test_a_live_knob_of_the_loss_changes_the_weights(learner, settings, batch, knob, value):
    prints = set()
    for changes in ({}, {knob: value}):
        subject = learner()
        subject.step(batch(), settings(ppo_epochs=4, actor_lr=1e-2, **changes))
        prints.add(subject.fingerprint())
    assert len(prints) == 2


def test_the_critic_warms_up_while_the_actor_stands_still(learner, settings, batch):
    subject = learner(critic_warmup_steps=2)
    start = subject.fingerprint()
    for update in (1, 2):
        found = subject.step(batch(), settings()).metrics
        assert subject.fingerprint() == start
        assert subject.policy_version == update
        assert found["actor_lr"] == 0.0
        assert found["critic_grad_norm"] > 0
    assert subject.step(batch(), settings()).metrics["actor_lr"] == 1e-3
    assert subject.fingerprint() != start


def test_an_update_that_breaks_halfway_puts_weights_and_optimizers_back(learner, settings, batch):
    subject, twin = learner(minibatch_dialogues=4), learner(minibatch_dialogues=4)
    for one in (subject, twin):
        one.step(batch(), settings())
    before = subject.fingerprint()
    # The first step throws the weights so far that the second minibatch overflows.
    with pytest.raises(FloatingPointError, match="is nan in update 1, optimizer step 1; the wei"):
        subject.step(batch(8, 8), settings(actor_lr=1e38))
    assert subject.fingerprint() == before
    assert subject.policy_version == 1
    for one in (subject, twin):
        one.step(batch(), settings())
    assert subject.fingerprint() == twin.fingerprint()


def test_a_policy_that_is_not_finite_is_stopped_before_any_step(learner, settings, batch):
    subject = learner()
    with torch.no_grad():
        subject.actor.base_model.norm.weight[0] = float("nan")
    before = {name: one.clone() for name, one in named_tensors(subject.actor).items()}
    with pytest.raises(FloatingPointError, match="old_logprobs that are not finite"):
        subject.step(batch(), settings())
    for name, tensor in named_tensors(subject.actor).items():
        assert torch.equal(tensor.nan_to_num(), before[name].nan_to_num())


def test_a_kl_knob_without_a_reference_is_refused_rather_than_ignored(learner, settings, batch):
    with pytest.raises(ValueError, match=r"kl_coeff is 0\.01, but the run has no reference model"):
        learner().step(batch(), settings(kl_coeff=0.01))


@pytest.mark.parametrize("mode", ["reward", "loss"])
def test_the_kl_penalty_holds_the_policy_near_its_reference(learner, settings, trajectory, mode):
    trajectories = [trajectory(number, reward=0.0) for number in range(8)]
    drift = {}
    for coeff in (0.0, 1.0):
        subject = learner(reference=True, kl_mode=mode, whiten=False)
        for _ in range(20):
            found = subject.step(trajectories, settings(kl_coeff=coeff)).metrics
        drift[coeff] = found["kl"]
    assert drift[1.0] < 0.9 * drift[0.0]


def test_bootstrapping_can_be_turned_off(learner, settings, trajectory):
    trajectories = [trajectory(number, stop=StopReason.OUT_OF_STEPS) for number in range(4)]
    found = {}
    for on in (True, False):
        subject = learner(bootstrap_truncated=on)
        for _ in range(3):
            found[on] = subject.step(trajectories, settings()).metrics
    assert found[True]["bootstrap_mean"] != 0.0
    assert found[False]["bootstrap_mean"] == 0.0


def test_the_learner_scores_at_the_sampling_temperature(learner, settings, batch):
    warm = learner().step(batch(), settings()).metrics
    cold = learner(temperature=0.1).step(batch(), settings()).metrics
    assert cold["entropy"] < warm["entropy"] - 0.1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("credit", "magic"),
        ("gae_unit", "word"),
        ("kl_mode", "both"),
        ("lr_schedule", "step"),
        ("temperature", 0.0),
        ("minibatch_dialogues", 0),
        ("micro_batch_tokens", 0),
    ],
)
def test_a_configuration_that_cannot_be_followed_is_refused_by_name(learner, field, value):
    with pytest.raises(ValueError, match=f"learner.{field} is"):
        learner(**{field: value})


def test_half_precision_weights_are_refused(model):
    with pytest.raises(ValueError, match="load the model in float32"):
        TorchLearner(model().bfloat16(), LearnConfig(), seed=0)


def test_durations_come_from_the_clock_that_was_given(model, settings, batch):
    ticks = iter([0.0, 2.0, 5.0])
    subject = TorchLearner(model(), LearnConfig(), seed=0, clock=lambda: next(ticks))
    stats = subject.step(batch(), settings())
    assert (stats.score_s, stats.learn_s) == (2.0, 3.0)
