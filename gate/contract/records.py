"""Records: what a run writes down, declared once, field by field.

The trainer writes these records, the gate and the skill read them, and `docs/records.md` is made
from the declarations here. A field that depends on the clock is marked so: two runs of the same
seed and edits agree in every other field. Nothing here knows how the numbers come about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any


def told(
    sentence: str,
    *,
    unit: str = "",
    clock: bool = False,
    default: Any = MISSING,
    empty: bool = False,
    none: bool = False,
) -> Any:
    """Declare one field of a record.

    Args:
        sentence: What the field means.
        unit: Its unit; empty where it has none.
        clock: True when the value depends on the machine's speed or time of day.
        default: The value of a record that was written before the field existed.
        empty: True where that value is an empty map.
        none: True where that value is an empty list.
    """
    metadata = {"sentence": sentence, "unit": unit, "clock": clock}
    if none:
        return field(metadata=metadata, default_factory=list[Any])
    if empty:
        return field(metadata=metadata, default_factory=dict[str, Any])
    if default is MISSING:
        return field(metadata=metadata)
    return field(metadata=metadata, default=default)


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One training step, a line of `steps.jsonl`."""

    step: int = told("Number of the step; the first is 1.")
    revision: int = told("Revision of knobs and worlds in force during the whole step.")
    knobs_digest: str = told("Digest of the knob values in force.")
    policy_version: int = told("Version of the policy that sampled the episodes.")
    started: int = told("Episodes started.", unit="episodes")
    finished: int = told("Episodes that count and are trained on.", unit="episodes")
    quarantined: int = told("Episodes that the infrastructure spoiled.", unit="episodes")
    dropped: int = told("Episodes without any token of the policy.", unit="episodes")
    stop_reasons: Mapping[str, int] = told("Episodes by stop reason.", unit="episodes")
    success: float | None = told(
        "Mean success of the finished episodes under the values in force: no anchors and, while a "
        "test splits the batch, no old side. So are all means below that name nothing else. Null "
        "without any."
    )
    success_by_arm: Mapping[str, float] = told("Mean success by who played the user.")
    episodes_by_arm: Mapping[str, int] = told("Those episodes by arm.", unit="episodes")
    success_by_world: Mapping[str, float] = told("Mean success by world.")
    reward: float | None = told("Mean total reward of those episodes.")
    task_reward: float | None = told("Mean reward by the verifier.")
    shaping_reward: float | None = told("Mean reward by shaping rules and floors.")
    reward_by_rule: Mapping[str, float] = told("Mean reward per episode by rule.")
    episodes_by_world: Mapping[str, int] = told(
        "Those episodes by world.", unit="episodes", empty=True
    )
    metrics: Mapping[str, float] = told("Means of the worlds' own numbers, as `world.metric`.")
    conversation: Mapping[str, float] = told(
        "How users and agent talked in those episodes; the measures below.", empty=True
    )
    agent_turns: float | None = told("Mean agent turns per episode.", unit="turns")
    facts_revealed: float | None = told("Mean facts disclosed per episode.", unit="facts")
    max_reply_chars: int = told("Longest reply of a user in the step.", unit="characters")
    action_tokens: int = told("Tokens that the policy wrote.", unit="tokens")
    total_tokens: int = told("Tokens of all dialogues.", unit="tokens")
    learner: Mapping[str, float] = told(
        "What the update measured: losses, entropy, KL, clip fraction, explained variance, "
        "gradient norms, the learning rates that the optimizers really used."
    )
    world_revision: int = told("The folder `world/NNNN` in force.", default=0)
    old_revision: int | None = told(
        "Revision of the old side, while a test splits the batch; null otherwise.", default=None
    )
    test: int | None = told(
        "Number of the test that splits the batch, `experiments/NNNN.yaml`; null otherwise.",
        default=None,
    )
    new_share: float | None = told(
        "Share of its groups drawn to the new side; null otherwise.", default=None
    )
    by_side: Mapping[str, Mapping[str, int]] = told(
        "By side that was played: its `revision` and `world_revision`, and the episodes `started` "
        "and `quarantined` on it.",
        empty=True,
    )
    pinned_success: float | None = told(
        "Mean success by the verifier of revision 0, over the episodes that `success` counts.",
        default=None,
    )
    pinned_success_by_arm: Mapping[str, float] = told(
        "The same by who played the user.", empty=True
    )
    sides: Mapping[str, Mapping[str, Mapping[str, Any]]] = told(
        "While a test splits the batch: by side (old, new) and arm, `success` by the verifier of "
        "revision 0 and the number of `episodes`.",
        empty=True,
    )
    anchor_success: float | None = told(
        "Mean success of the anchors: episodes under revision 0 of world and user, scored by its "
        "verifier; null without any.",
        default=None,
    )
    anchor_episodes: int = told("Finished anchor episodes.", unit="episodes", default=0)
    staleness: int = told(
        "Updates between the policy that spoke and the one that learns from it: 1 for a step that "
        "was played while the one before was learnt from (`rollout.overlap`), else 0.",
        unit="updates",
        default=0,
    )
    updated: bool = told("False when no finished episode was left to learn from.")
    params_digest: str = told("Digest of the policy's parameters after the step.")
    endpoint: Mapping[str, float] = told(
        "What the step asked of the endpoint that plays the user: `requests`, `failures` among "
        "them, `prompt_tokens`, `completion_tokens`, `assumed` (requests whose tokens nobody told, "
        "counted at their most) and, where the recipe states prices, `usd`. Empty without one.",
        clock=True,
        empty=True,
    )
    judge: Mapping[str, float] = told(
        "What the step asked of the judge: `asked` questions that went out, `repeated` ones that "
        "were answered by what had been said before, `failed` ones without a usable answer, "
        "`pinned` ones that only revision 0's verifier asked, the `seconds` waited, and the counts "
        "of `endpoint`. Empty where rules decide.",
        clock=True,
        empty=True,
    )
    rollout_s: float = told("Time of the rollout.", unit="seconds", clock=True)
    sample_s: float = told(
        "Part of it in which any turn was being written. Where servers write, this overlaps the "
        "next two, and all three may add up to more than the whole.",
        unit="seconds",
        clock=True,
    )
    world_s: float = told(
        "Part of it in which any world was being asked, or asked a judge.",
        unit="seconds",
        clock=True,
    )
    user_s: float = told(
        "Part of it in which any user was being asked.", unit="seconds", clock=True
    )
    score_s: float = told("Time of scoring the batch.", unit="seconds", clock=True)
    learn_s: float = told("Time of the gradient steps.", unit="seconds", clock=True)
    step_s: float = told(
        "Time of the whole step; where steps overlap, what came after the one before.",
        unit="seconds",
        clock=True,
    )
    time: float = told("When the step ended.", unit="seconds since 1970", clock=True)


CONVERSATION: Mapping[str, str] = {
    "symbolic_share": "Share of the episodes that the symbolic user was drawn for.",
    "facts_per_reply": "Mean number of facts in a reply that discloses any.",
    "reveals_per_fact": "How often a fact that was disclosed was told, on average.",
    "unmatched_share": "Share of the agent's questions that matched no fact.",
    "volunteered_share": "Share of the disclosing replies that nobody had asked for.",
    "reply_chars": "Mean length of a reply, in characters.",
    "cap_hit_share": "Share of the episodes that the turn limit cut.",
    "malformed_share": "Share of the agent's turns that no world could read.",
}
"""The measures of `StepRecord.conversation`, each with its sentence."""


@dataclass(frozen=True, kw_only=True)
class EventRecord:
    """Something worth knowing, a line of `events.jsonl`."""

    kind: str = told("One of the kinds below.")
    step: int = told("Step in which it happened; 0 before the first.")
    detail: Mapping[str, Any] = told("What belongs to the kind, such as the episode and reason.")
    time: float = told("When it was written.", unit="seconds since 1970", clock=True)


EVENT_KINDS: Mapping[str, str] = {
    "run_started": "A run was launched.",
    "run_resumed": "A run went on from a checkpoint; says which, and what was replayed.",
    "run_finished": "A run reached its last step, was asked to stop, or failed; says why.",
    "quarantined": "An episode was spoilt by the infrastructure; says which and why.",
    "dropped": "An episode held no token of the policy.",
    "user_failed": "Users had no answer within deadline and retries; says in how many episodes.",
    "judge_failed": "Questions to a judge had no usable answer; says how many, and one reason.",
    "knob_adopted": "An edit of knob files came into force.",
    "knob_refused": "An edit was refused; the values before it stay in force.",
    "proposal_adopted": "A proposal came into force; says its number, revision and changes.",
    "proposal_refused": "A proposal was refused; says its number and why.",
    "unscored": "Revision 0's verifier had no word on an episode; says which and why.",
    "fault_planted": "A fault that the recipe plants came into force, or could not; says which.",
    "world_swapped": "Workers of another revision of the worlds play from this step on.",
    "verdict": "A change was judged; says the verdict, why, and what took it back if anything did.",
    "test_opened": "The effect of a change is being tested; says design, window and power.",
    "breach": "Somebody wrote what was not theirs to write; says what, and what was put back.",
    "knob_vanished": "Knob files cannot be read; the last good values stay in force.",
    "resume_difference": "Disk, ledger and checkpoint disagree; says which won.",
    "checkpoint": "A checkpoint was written.",
    "checkpoint_rejected": "A checkpoint is incomplete or damaged and was not used.",
    "engine_lost": "A serving engine stopped answering; says which, and why it is thought lost.",
    "engine_unreachable": "One rank did not reach a serving engine that answers rank 0; says why.",
    "engine_restart": "A serving engine that was lost serves the weights in force again.",
    "weights_resent": "A serving engine had not taken the new weights and was given them again.",
    "disk_full": "The disk is full; the run pauses or stops as configured.",
    "update_failed": "A loss or gradient was not finite; the update was undone.",
    "no_update": "A step had no finished episode to learn from.",
    "constant_reward": "The reward had one single value for many steps.",
}
"""Every kind of event that a run may write, with its sentence."""


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """One episode, a line of `episodes/NNNNNN.jsonl` (the file's number is the step)."""

    id: str = told("Step and index in the batch, as `000012-05`.")
    step: int = told("Training step.")
    task_id: str = told("Task that was played.")
    world: str = told("World it was played in.")
    group: str = told("Rollouts of one task in one step share it.")
    arm: str = told("Who was drawn to play the user: symbolic, noisy or llm.")
    revision: int = told("Revision under which it started and finished.")
    policy_version: int = told("Version of the policy that spoke.")
    seed: int = told("Seed of the episode.")
    stop: str = told("Why it ended.")
    outcome: str = told("finished, quarantined or dropped.")
    success: float | None = told("The verifier's verdict in [0, 1]; null where it failed.")
    reward: float = told("Sum of all payments.")
    rewards: list[dict[str, Any]] = told("Payments: rule, value, agent turn.")
    metrics: Mapping[str, float] = told("The world's own numbers.")
    turns: list[dict[str, Any]] = told(
        "Turns: speaker, text, agent turn, voice of the user, facts revealed, events of the "
        "world, and what is private to the user's side."
    )
    num_tokens: int = told("Tokens of the dialogue.", unit="tokens")
    num_action_tokens: int = told("Tokens that the policy wrote.", unit="tokens")
    error: str | None = told("What broke, when something did.")
    side: str = told("in_force, old, new or anchor: which values it ran under.", default="in_force")
    pinned_success: float | None = told(
        "The verdict of revision 0's verifier; null where there is none.", default=None
    )
    judged: list[dict[str, Any]] = told(
        "What a judge was asked and said, for verdict and replay: digest of the `question`, "
        "`judge`, `criteria`, `answer` (a value in [0, 1] for each), and `pinned` where only "
        "revision 0's verifier asked. Never shown to the agent. Empty where rules decide.",
        none=True,
    )


@dataclass(frozen=True, kw_only=True)
class StatusRecord:
    """The observed state of a run, `status.json`, replaced whole at every step."""

    run: str = told("Id of the run.")
    phase: str = told("starting, warm_start, training, paused, finished, stopped or failed.")
    stage: str = told(
        "What the process is doing now: demonstrations, replay, knobs, "
        "rollout, learn, recorded, checkpoint, done."
    )
    step: int = told("Last finished step.")
    total_steps: int = told("Step at which the run ends, as in force.")
    revision: int = told("Revision in force.")
    refused: list[dict[str, Any]] = told(
        "Why the knob files on disk are not in force: file, line, column, value, limit, next step."
    )
    warnings: list[dict[str, Any]] = told("What is in force but doubtful.")
    in_force_since: Mapping[str, int] = told("Step since which each changed knob is in force.")
    health: Mapping[str, Any] = told(
        "Numbers that tell trouble: quarantined share, failed saves, steps without an update; "
        "`sampler`, where engines serve the policy: servers and how well they agree."
    )
    not_protected: list[str] = told("What is not protected here, each in a sentence.")
    pid: int = told("Process id of the trainer.", clock=True)
    heartbeat: float = told("When this was written.", unit="seconds since 1970", clock=True)
    reason: str | None = told("Why it failed, or what a paused run waits for.", default=None)
    world_revision: int = told("The folder `world/NNNN` in force.", default=0)
    test: Mapping[str, Any] | None = told(
        "The test that splits the batches: `number`, `old` and `new` revision; null while none "
        "does.",
        default=None,
    )
    under_way: Mapping[str, Any] | None = told(
        "Of a run that plays a step while it learns from the one before: the newest such `step` "
        "that was learnt from, and its `revision`, `old_revision`, `test` and `new_share`. A run "
        "that was killed goes on with it under them.",
        default=None,
    )
    endpoint: Mapping[str, float] = told(
        "The counts of `endpoint` in `steps.jsonl` for the whole run: all its processes, replayed "
        "and unfinished steps included.",
        clock=True,
        empty=True,
    )
    judge: Mapping[str, float] = told(
        "The same of the judge: those counts of `judge` in `steps.jsonl` that `endpoint` has, too.",
        clock=True,
        empty=True,
    )


RECORDS: Mapping[str, type] = {
    "steps.jsonl": StepRecord,
    "events.jsonl": EventRecord,
    "episodes/NNNNNN.jsonl": EpisodeRecord,
    "status.json": StatusRecord,
}
"""Every kind of record by the file that holds it."""


def to_json(record: Any) -> dict[str, Any]:
    """Return a record as plain JSON values, in the order of its declaration."""
    return asdict(record)


def without_clock(kind: type, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a record that two runs of the same seed and edits share."""
    clock = {entry.name for entry in fields(kind) if entry.metadata.get("clock")}
    return {name: value for name, value in record.items() if name not in clock}


def markdown() -> str:
    """Return the tables of `docs/records.md`: file, field, type, unit and meaning."""
    parts: list[str] = []
    for name, kind in RECORDS.items():
        promise = (kind.__doc__ or "").strip().splitlines()[0]
        parts.append(f"## `{name}`\n\n{promise}\n")
        parts.append("| field | type | unit | meaning |\n|---|---|---|---|")
        for entry in fields(kind):
            unit = entry.metadata["unit"] + (" (clock)" if entry.metadata["clock"] else "")
            written = str(entry.type).replace("|", "\\|")
            parts.append(f"| `{entry.name}` | {written} | {unit} | {entry.metadata['sentence']} |")
        parts.append("")
        if kind is StepRecord:
            parts.append("| measure of `conversation` | meaning |\n|---|---|")
            parts += [f"| `{name}` | {sentence} |" for name, sentence in CONVERSATION.items()]
            parts.append("")
        if kind is EventRecord:
            parts.append("| kind of event | meaning |\n|---|---|")
            parts += [f"| `{kind_}` | {sentence} |" for kind_, sentence in EVENT_KINDS.items()]
            parts.append("")
    return "\n".join(parts)
