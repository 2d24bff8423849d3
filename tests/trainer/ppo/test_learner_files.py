"""A learner that was saved and loaded goes on as if it had never stopped, bit for bit."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen3ForCausalLM

from trainer.ppo.learner import LearnConfig
from trainer.ppo.torch_learner import TorchLearner

PARTS = ("actor", "actor_optimizer", "critic", "critic_optimizer", "random")
COSINE = {"lr_schedule": "cosine", "lr_warmup_steps": 2, "lr_decay_steps": 12}


def run(subject, settings, batch, updates) -> list[float]:
    """Make updates with two optimizer steps each and return the rates they used."""
    return [
        subject.step(batch(8, first=8 * update), settings()).metrics["actor_lr"]
        for update in updates
    ]


@pytest.mark.parametrize("stops", [(6, 12), (4, 8, 12)])
def test_a_run_in_pieces_equals_a_run_in_one(learner, settings, batch, tmp_path, stops):
    options = {"minibatch_dialogues": 4, **COSINE}
    unbroken = learner(**options)
    rates = run(unbroken, settings, batch, range(12))
    pieces, start = [], 0
    subject = learner(**options)
    for stop in stops:
        pieces += run(subject, settings, batch, range(start, stop))
        subject.save(tmp_path / str(stop))
        subject = learner(seed=99, **options)
        subject.load(tmp_path / str(stop))
        start = stop
    assert pieces == rates
    assert len(set(rates)) > 9
    assert subject.policy_version == 12
    assert subject.fingerprint() == unbroken.fingerprint()
    last = [one.step(batch(), settings()).metrics for one in (subject, unbroken)]
    assert last[0] == last[1]


def test_a_resumed_learner_starts_from_a_ratio_of_one(learner, settings, batch, folder):
    subject = learner()
    run(subject, settings, batch, range(3))
    subject.save(folder)
    resumed = learner()
    resumed.load(folder)
    found = resumed.step(batch(), settings()).metrics
    assert found["ratio_first_minibatch_max"] == pytest.approx(1.0, abs=1e-5)


def test_a_knob_changed_while_the_run_was_down_changes_the_weights(
    learner, settings, batch, folder
):
    subject = learner()
    run(subject, settings, batch, range(2))
    subject.save(folder)
    prints = set()
    for factor in (1.0, 100.0):
        resumed = learner()
        resumed.load(folder)
        found = resumed.step(batch(), settings(actor_lr=1e-5 * factor)).metrics
        assert found["actor_lr"] == 1e-5 * factor
        prints.add(resumed.fingerprint())
    assert len(prints) == 2


def test_a_learner_saved_before_its_first_update_can_be_loaded(learner, settings, batch, folder):
    fresh = learner()
    fresh.save(folder)
    used = learner()
    run(used, settings, batch, range(2))
    used.load(folder)
    assert used.policy_version == 0
    for one in (fresh, used):
        one.step(batch(), settings())
    assert fresh.fingerprint() == used.fingerprint()


def test_saving_changes_nothing(learner, settings, batch, folder):
    saved, twin = learner(), learner()
    run(saved, settings, batch, range(2))
    run(twin, settings, batch, range(2))
    saved.save(folder)
    for one in (saved, twin):
        one.step(batch(), settings())
    assert saved.fingerprint() == twin.fingerprint()


@pytest.mark.parametrize("part", [*(f"{part}.safetensors" for part in PARTS), "learner.json"])
def test_a_missing_part_is_named_and_nothing_is_loaded(learner, settings, batch, folder, part):
    subject = learner()
    run(subject, settings, batch, range(1))
    subject.save(folder)
    (folder / part).unlink()
    other = learner()
    before = other.fingerprint()
    with pytest.raises(FileNotFoundError, match=part):
        other.load(folder)
    assert other.fingerprint() == before
    assert other.policy_version == 0


@pytest.mark.parametrize("part", [f"{part}.safetensors" for part in PARTS])
def test_a_part_that_was_cut_short_is_named(learner, settings, batch, folder, part):
    subject = learner()
    run(subject, settings, batch, range(1))
    subject.save(folder)
    content = (folder / part).read_bytes()
    (folder / part).write_bytes(content[: min(1000, len(content) // 2)])
    with pytest.raises(ValueError, match=f"{part} cannot be read .* use an earlier checkpoint"):
        learner().load(folder)


def test_a_part_left_out_of_the_list_is_named(learner, folder):
    learner().save(folder)
    counters = json.loads((folder / "learner.json").read_text())
    del counters["parts"]["critic_optimizer"]
    (folder / "learner.json").write_text(json.dumps(counters))
    with pytest.raises(FileNotFoundError, match="lacks its part critic_optimizer"):
        learner().load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2, "parts": {}}'])
def test_a_broken_list_of_parts_is_refused(learner, folder, text):
    learner().save(folder)
    (folder / "learner.json").write_text(text)
    with pytest.raises(ValueError, match=r"learner\.json cannot be read"):
        learner().load(folder)


def test_another_models_checkpoint_is_refused_whole(learner, model, folder):
    config = model().config
    config.num_hidden_layers = 1
    config.layer_types = config.layer_types[:1]
    TorchLearner(Qwen3ForCausalLM(config), LearnConfig(), seed=0).save(folder)
    other = learner()
    before = other.fingerprint()
    with pytest.raises(ValueError, match=r"lacks the tensor model\.layers\.1"):
        other.load(folder)
    assert other.fingerprint() == before


def test_a_checkpoint_is_never_written_over(learner, folder):
    learner().save(folder)
    with pytest.raises(FileExistsError, match="choose another folder"):
        learner().save(folder)


def test_the_fingerprint_knows_every_weight(learner):
    subject, twin = learner(), learner()
    assert subject.fingerprint() == twin.fingerprint()
    with torch.no_grad():
        next(iter(subject.actor.parameters())).view(-1)[3] += 1e-7
    assert subject.fingerprint() != twin.fingerprint()


def test_an_exported_actor_is_an_ordinary_model_directory(learner, settings, batch, folder):
    subject = learner()
    subject.step(batch(), settings())
    subject.export(folder)
    again = AutoModelForCausalLM.from_pretrained(folder)
    ids = torch.tensor([[1, 5, 9, 2]])
    with torch.no_grad():
        assert torch.equal(again(input_ids=ids).logits, subject.actor(input_ids=ids).logits)
