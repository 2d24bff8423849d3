"""Activation checkpointing saves memory and changes no number, and leaves models as they were."""

from __future__ import annotations

import pytest
import torch
from transformers.modeling_layers import GradientCheckpointingLayer

from trainer.ppo.recompute import recomputing


def test_an_update_is_the_same_to_the_bit(learner, settings, batch):
    prints = []
    for again in (False, True):
        subject = learner(recompute_activations=again, minibatch_dialogues=4)
        subject.step(batch(), settings(entropy_coeff=0.01))
        prints.append(subject.fingerprint())
    assert prints[0] == prints[1]


def test_layers_keep_less_inside_the_block_and_are_as_before_after_it(model):
    subject, ids = model().eval(), torch.arange(24)[None]

    def kept() -> int:
        sizes: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: sizes.append(tensor.numel()) or tensor, lambda tensor: tensor
        ):
            subject(input_ids=ids, use_cache=False)
        return sum(sizes)

    plain = kept()
    with recomputing(subject):
        again = kept()
    assert again < plain
    assert kept() == plain
    assert not any(module.training for module in subject.modules())


def test_dropout_stays_off_inside_the_block(model):
    subject = model().eval()
    with recomputing(subject):
        switched = [one for one in subject.modules() if one.training]
        assert switched
        assert all(isinstance(one, GradientCheckpointingLayer) for one in switched)


def test_a_network_without_such_layers_is_refused():
    with (
        pytest.raises(ValueError, match="recompute_activations"),
        recomputing(torch.nn.Linear(2, 2)),
    ):
        pass
