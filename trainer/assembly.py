"""Assembling a run: policy, learner, sampler, users and worlds made from a recipe.

One place knows which implementation stands behind each seam; everyone else gets them passed in.
This module knows nothing about steps or records.
"""

from __future__ import annotations

import copy
import os
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import torch
from transformers import PreTrainedModel
from transformers.utils import logging as transformers_logging

from trainer import demonstrations, devices, seeds
from trainer.endpoints import endpoint_model, make_judge, make_meter
from trainer.episode import Voice
from trainer.policy import build, frozen, lora, skeleton, tokenizer, warmstart
from trainer.policy.build import Policy
from trainer.policy.frozen import Adapted
from trainer.policy.local import LocalSampler
from trainer.policy.local_chat import LocalChatModel
from trainer.policy.narrowing import hold_in
from trainer.policy.sampler import Sampler
from trainer.policy.sglang_sampler import SglangSampler
from trainer.policy.warmstart import Demonstration
from trainer.ppo import deepspeed_ranks
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.deepspeed_learner import DeepSpeedLearner
from trainer.ppo.deepspeed_ranks import Ranks
from trainer.ppo.learner import Learner
from trainer.ppo.torch_learner import TorchLearner
from trainer.ppo.weights import put_back, read_tensors
from trainer.recipe import PolicyConfig, RunConfig, WarmStart
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.users import personas, rule_file
from trainer.users.absent import AbsentUser
from trainer.users.chat import ChatFailure, ChatModel
from trainer.users.llm import LLMUser
from trainer.users.noisy import NoisyUser
from trainer.users.prompt import OutputStyle
from trainer.users.seam import UserEngine
from trainer.users.spending import Meter
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.host import WorldHost

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eau"

POLICY_PART = "policy"
LEARNER_PART = "learner"
"""Parts of a checkpoint: the policy without its weights, and the learner with them."""

LOCAL_USER_TOKENS = 2048
"""Longest conversation of a model in this process that plays the user."""

Report = Callable[[str, int, int], None]
"""Told about slow work: what it is, how much is done, how much there is."""


def quiet() -> None:
    """Keep torch to one thread and transformers to errors, for the whole process.

    Two spinning OpenMP threads on a shared machine were measured up to twenty times slower.
    """
    torch.set_num_threads(1)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")


def new_policy(config: RunConfig, dialogues: list[Demonstration], report: Report) -> Policy:
    """Return the policy that a new run starts from.

    Args:
        config: The recipe.
        dialogues: Demonstrations; a small model learns its vocabulary and its start from them.
        report: Told about the warm start.
    """
    policy = _plain_policy(config, dialogues, report)
    options = config.policy.lora
    if options is None:
        return policy
    lies_there = config.policy.kind in ("path", "smollm2")
    path = _directory(config.policy).resolve() if lies_there else None
    digest = frozen.digest_of(path) if path is not None else ""
    hold_in(policy.model, getattr(torch, options.base_dtype))
    lora.attach(policy.model, options, seed=seeds.derive(config.seed, "lora"))
    return replace(policy, adapted=Adapted(options, path, digest))


def _plain_policy(config: RunConfig, dialogues: list[Demonstration], report: Report) -> Policy:
    """Return the policy that a new run starts from, before any adapters are put on it."""
    if config.policy.kind == "checkpoint":
        saved = policy_of(Path(config.policy.path or ""))
        return replace(saved, model=lora.plain(saved.model), adapted=None)
    if config.policy.kind != "small":
        return build.load(_directory(config.policy), torch.float32)
    size = asdict(config.policy.size)
    vocab_size = size.pop("vocab_size")
    texts = [text for one in dialogues for text in (one.system, *(t for _, t in one.turns))]
    tokens = tokenizer.train_tokenizer(texts, vocab_size=vocab_size)
    seed = seeds.derive(config.seed, "policy")
    model = build.small_qwen3(len(tokens), seed=seed, **size)
    policy = build.assemble(model, tokens, name=f"small-{config.name}")
    if config.policy.warm_start is not None:
        _warm_start(policy, dialogues, config.policy.warm_start, seed, report)
    return policy


def _warm_start(
    policy: Policy, dialogues: list[Demonstration], warm: WarmStart, seed: int, report: Report
) -> None:
    """Teach a small model its start: pieces of dialogues first, then whole ones."""
    total = warm.piece_steps + warm.steps
    short = [piece for one in dialogues for piece in demonstrations.pieces(one)]
    stages = (
        (short, warm.piece_steps, warmstart.Schedule.CONSTANT, 0),
        (dialogues, warm.steps, warmstart.Schedule.COSINE, warm.piece_steps),
    )
    for shown, steps, schedule, done_before in stages:
        if not steps:
            continue

        def told(done: int, loss: float, before: int = done_before) -> None:
            report(f"warm start, loss {loss:.3f}", before + done, total)

        warmstart.warm_start(
            policy,
            shown,
            warmstart.WarmStartConfig(
                steps=steps,
                tokens_per_batch=warm.tokens_per_batch,
                lr=warm.lr,
                seed=seed,
                schedule=schedule,
            ),
            progress=told,
        )


def saved_policy(checkpoint: Path) -> Policy:
    """Return the policy of a checkpoint; its weights come with the learner."""
    return skeleton.load(checkpoint / POLICY_PART)


def policy_of(checkpoint: Path) -> Policy:
    """Return the policy of another run's checkpoint, as a run that begins with it needs it.

    Raises:
        OSError: if a part of the checkpoint is missing.
        ValueError: if its weights do not fit.
    """
    policy = saved_policy(checkpoint)
    path = checkpoint / LEARNER_PART / "actor.safetensors"
    put_back(policy.model, read_tensors(path), origin=str(path))
    return policy


def make_learner(
    config: RunConfig,
    policy: Policy,
    *,
    checkpoint: Path | None,
    reference: bool = False,
    origin: Path | None = None,
) -> Learner:
    """Return the learner of a policy.

    Args:
        config: The recipe.
        policy: The policy; it is trained in place.
        checkpoint: The checkpoint whose state it takes on, if any.
        reference: Keep a copy of the first policy, for the distance to it and its penalty.
        origin: The checkpoint that holds the first policy; None where `policy` is that.
    """
    torch.set_num_threads(config.threads)
    first = _first_policy(policy, origin) if reference else None
    if first is not None and config.backend == "deepspeed" and policy.adapted is None:
        # It is only read: in the learner's own type it takes half of a GPU's room for it.
        hold_in(first, getattr(torch, config.deepspeed.dtype))
    seed, ranks = seeds.derive(config.seed, "learner"), join_ranks(config)
    if ranks is None:
        learner: Learner = TorchLearner(
            policy.model,
            config.learner,
            seed=seed,
            device=devices.device_of(config),
            reference_model=first,
        )
    else:
        learner = DeepSpeedLearner(
            policy.model,
            config.learner,
            config.deepspeed,
            ranks,
            seed=seed,
            reference_model=first,
        )
    if checkpoint is not None:
        learner.load(checkpoint / LEARNER_PART)
    return learner


def join_ranks(config: RunConfig) -> Ranks | None:
    """Join the other processes of a job, once a process; None for a learner that has none."""
    return _join() if config.backend == "deepspeed" else None


@cache
def _join() -> Ranks:
    return deepspeed_ranks.join()


def _first_policy(policy: Policy, origin: Path | None) -> PreTrainedModel:
    if policy.adapted is not None:
        # The first policy is the frozen model itself, which is there already.
        return lora.without_adapters(policy.model)
    model = copy.deepcopy(policy.model)
    if origin is not None:
        path = origin / LEARNER_PART / "actor.safetensors"
        put_back(model, read_tensors(path), origin=str(path))
    return model


def make_sampler(config: RunConfig, policy: Policy, learner_version: int) -> Sampler:
    """Return the sampler that writes with the learner's weights; its owner closes it."""
    stop_ids, max_tokens = policy.chat.stop_ids, config.rollout.context_tokens
    if config.sampler.kind == "sglang":
        # Weight versions carry a mark of this very launch: a server that was left by another one
        # must not pass for one of ours.
        mark = uuid.uuid4().hex[:8]
        sampler: Sampler = SglangSampler(
            policy.model, stop_ids, config.sampler, name=mark, max_tokens=max_tokens
        )
    else:
        sampler = LocalSampler(
            policy.model,
            stop_ids,
            max_dialogues=config.rollout.dialogues_per_step,
            max_tokens=max_tokens,
            own_weights=config.rollout.overlap,
        )
    try:
        sampler.sync(learner_version)
    except BaseException:
        sampler.close()
        raise
    return sampler


def make_users(
    config: RunConfig, world_root: Path, chat: Callable[[], ChatModel]
) -> Mapping[Voice, UserEngine]:
    """Return the user engines by voice.

    Args:
        config: The recipe.
        world_root: Folder of the worlds of one revision; each holds `user.yaml`.
        chat: Returns the model behind a user that is one.

    Raises:
        rule_file.RuleFileError: if a world's rules cannot be used.
        personas.PersonaError: if a world's personas cannot be used.
    """
    rules = {world: rule_file.load(world_root / world / "user.yaml") for world in config.worlds}
    symbolic = SymbolicUser(rules)
    engines: dict[Voice, UserEngine] = {Voice.SYMBOLIC: symbolic}
    if config.users.other == "noisy":
        engines[Voice.NOISY] = NoisyUser(symbolic, config.users.noise)
        return engines
    prose = {
        world: personas.read_personas(world_root / world / "personas") for world in config.worlds
    }
    endpoint = config.users.endpoint
    style = OutputStyle(endpoint.style)
    engines[Voice.LLM] = LLMUser(
        chat(),
        rules,
        prose,
        style,
        max_tokens=endpoint.max_tokens,
        # A model in this process answers a whole batch for little more than one.
        at_once=endpoint.concurrency if config.users.other == "llm" else 1,
    )
    return engines


def make_places(
    config: RunConfig, folder_of: Callable[[int], Path], *, meter: Meter | None = None
) -> Places:
    """Return the worlds and users of a run by revision; its owner ends them.

    A revision whose users cannot be used opens all the same: its episodes tell.

    Args:
        config: The recipe.
        folder_of: Returns the folder with all worlds of one revision.
        meter: Counts what an endpoint that plays the user is asked; None for one of its own.
    """
    # One model plays the users of all revisions: what differs between them are words.
    chat = cache(lambda: _chat_model(config, meter or make_meter(config.users.endpoint)))

    def open_at(revision: int) -> Place:
        root = folder_of(revision)
        try:
            users = make_users(config, root, chat)
        except (rule_file.RuleFileError, personas.PersonaError) as error:
            if revision == 0:
                raise
            reason = f"the users of world revision {revision} cannot be used: {error}"
            voices = (Voice.SYMBOLIC, _other_voice(config))
            users = {voice: AbsentUser(voice, reason) for voice in voices}
        worlds = make_worlds(config, root)
        return Place(worlds, users, end=worlds.shutdown, unfenced=worlds.unfenced)

    return Places(open_at)


def _other_voice(config: RunConfig) -> Voice:
    return Voice.NOISY if config.users.other == "noisy" else Voice.LLM


def _chat_model(config: RunConfig, meter: Meter) -> ChatModel:
    users = config.users
    if users.other == "llm":
        return endpoint_model(users.endpoint, meter)
    directory = Path(users.local_path) if users.local_path else build.smollm2(CACHE)
    policy = build.load(directory, torch.float32)
    return LocalChatModel(policy, ChatFailure, max_tokens=LOCAL_USER_TOKENS)


def make_scene(
    config: RunConfig,
    policy: Policy,
    sampler: Sampler,
    places: Places,
    *,
    greedy: bool = False,
    judge_meter: Meter | None = None,
) -> Scene:
    """Return everyone who takes part in a rollout.

    Args:
        config: The recipe.
        policy: The policy; its chat format is spoken.
        sampler: Who writes the turns.
        places: Worlds and users.
        greedy: Take the likeliest token.
        judge_meter: Counts what the judge's endpoint is asked; None for one of its own.
    """
    judge = make_judge(config.judge, meter=judge_meter)
    return Scene(
        sampler=sampler,
        chat=policy.chat,
        places=places,
        other_voice=_other_voice(config),
        config=config.rollout,
        prompt_styles={world: setting.prompt_style for world, setting in config.worlds.items()},
        temperature=config.learner.temperature,
        clock=time.monotonic,
        greedy=greedy,
        placeholder=config.learner.infopo.placeholder
        if ESTIMATORS[config.learner.credit].needs_masked_feedback
        else None,
        judge=judge,
        judged=catalog.judged(config.worlds) if judge else frozenset(),
    )


def make_worlds(config: RunConfig, world_root: Path) -> WorldHost:
    """Return the host of the worlds' processes; its owner shuts it down."""
    return WorldHost({world: world_root / world for world in config.worlds}, ahead=True)


def _directory(config: PolicyConfig) -> Path:
    if config.kind == "smollm2":
        return build.smollm2(CACHE)
    return Path(config.path or "")
