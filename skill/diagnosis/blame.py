"""Blame: on whom each failed episode is to be put, and the turn that shows it.

Trust goes first to what was recorded (an infrastructure fault, a fault of the user's channel, two
verdicts on the same answer), then to what a dialogue shows; the policy is blamed when nothing else
explains the failure. This is a reading of single episodes, not a cause of a trend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill.diagnosis.dialogue import LIMITS, Dialogue
from skill.diagnosis.symptoms import Party

STALLED_REPLIES = 3
"""Replies in a row that refuse the agent before a dialogue counts as deadlocked."""

ENVIRONMENT_STOPS = frozenset({"world_error", "world_invalid", "world_flooded", "world_hung"})
_UNHEARD_MATCHES = frozenset({"spent", "withdrawn"})
_SHOWING = "wrong"


@dataclass(frozen=True)
class Blame:
    """One failed episode on one party."""

    episode: Dialogue
    party: Party
    reason: str
    """A short stable name of why, such as `verdict_contradicted`."""
    turn: int | None = None
    """Position of the turn that shows it, None where no turn was played."""

    @property
    def evidence(self) -> str:
        """The record that shows it."""
        return self.episode.cite(self.turn)


@dataclass(frozen=True)
class Shares:
    """How the failed episodes of a window are shared out."""

    episodes: int
    """Episodes looked at."""
    failed: int
    counts: tuple[tuple[Party, int], ...]
    """Most blamed first; parties without blame are left out."""
    reasons: tuple[tuple[str, int], ...]
    """Most frequent first."""

    def share(self, party: Party) -> float:
        """Return a party's part of the failed episodes, in [0, 1]."""
        return dict(self.counts).get(party, 0) / self.failed if self.failed else 0.0


def blame_all(episodes: Iterable[Dialogue]) -> list[Blame]:
    """Put every failed episode on a party, in the order of the episodes.

    Args:
        episodes: Failures and successes alike: what was a success elsewhere shows a verdict that
            contradicts itself.
    """
    seen = list(episodes)
    right = solved_answers(seen)
    return [blame(episode, right) for episode in seen if episode.failed]


def shares(episodes: Sequence[Dialogue], blamed: Sequence[Blame]) -> Shares:
    """Count the blame of a window.

    Args:
        episodes: All that were looked at.
        blamed: The failed ones among them.
    """
    parties = Counter(entry.party for entry in blamed)
    reasons = Counter(entry.reason for entry in blamed)
    return Shares(
        len(episodes),
        len(blamed),
        tuple(parties.most_common()),
        tuple(reasons.most_common()),
    )


def solved_answers(episodes: Iterable[Dialogue]) -> frozenset[tuple[str, str, tuple[str, ...]]]:
    """Return what was judged a full success: world, task and the agent's answers."""
    return frozenset(
        (one.world, one.task, one.answers) for one in episodes if one.solved and one.answers
    )


def blame(episode: Dialogue, right: frozenset[tuple[str, str, tuple[str, ...]]]) -> Blame:
    """Put one failed episode on a party.

    Args:
        episode: An episode without full success.
        right: Answers that the verifier took for right elsewhere (see `solved_answers`).
    """
    last = len(episode.turns) - 1 if episode.turns else None
    if episode.outcome == "quarantined":
        environment = episode.stop in ENVIRONMENT_STOPS
        party = Party.ENVIRONMENT if environment else Party.INFRASTRUCTURE
        return Blame(episode, party, episode.stop or "quarantined", last)
    if episode.outcome == "dropped":
        return Blame(episode, Party.CONFIGURATION, "no_room_to_speak", last)
    if episode.success is None:
        return Blame(episode, Party.VERIFIER, "no_verdict", last)
    if not episode.stop:
        return Blame(episode, Party.INFRASTRUCTURE, "no_stop_reason", last)
    if (episode.world, episode.task, episode.answers) in right and episode.stop not in LIMITS:
        return Blame(episode, Party.VERIFIER, "verdict_contradicted", _last_agent(episode))
    return _from_the_dialogue(episode, last)


def deadlocked_at(episode: Dialogue) -> int | None:
    """Return the turn from which user and agent wait for each other, None where they do not.

    So it is when a limit cut a dialogue whose last replies refused every fair move of the agent
    in the same words: moves that ask something new, or that answer. It is also so when the user
    takes no answer and has nothing left to be asked. An agent that repeats itself or only asks for
    what it was told waits for nobody.
    """
    if episode.stop not in LIMITS:
        return None
    replies = episode.spoken_by("user")[-STALLED_REPLIES:]
    if len(replies) < STALLED_REPLIES:
        return None
    words = {episode.text(index).lower() for index in replies}
    refused = all(_refuses(episode, index) for index in replies)
    asked = {_move_before(episode, index) for index in replies}
    challenged = all(_challenges(episode, index) for index in replies)
    if len(words) == 1 and refused and (challenged or len(asked) == len(replies)):
        return replies[0]
    return _both_doors_shut_at(episode)


def _both_doors_shut_at(episode: Dialogue) -> int | None:
    replies = episode.spoken_by("user")[-STALLED_REPLIES - 1 :]
    challenges = [
        index
        for index in replies
        if _challenges(episode, index) and _acts(episode, index, "answer", "both")
    ]
    exhausted = [
        index
        for index in replies
        if episode.private(index).get("match") in _UNHEARD_MATCHES
        and _acts(episode, index, "ask", "both")
        and index not in challenges
    ]
    shut = len(challenges) >= 2 and exhausted and len(challenges) + len(exhausted) == len(replies)
    return challenges[0] if shut else None


def _challenges(episode: Dialogue, index: int) -> bool:
    return episode.private(index).get("strategy") == "challenge_solution"


def silent_tool_at(episode: Dialogue) -> int | None:
    """Return the first tool turn that answered nothing at all, None where each said something.

    Blanks are nothing; an error message is something.
    """
    return next(
        (index for index in episode.spoken_by("tool") if not episode.text(index).strip()), None
    )


def left_early_at(episode: Dialogue) -> int | None:
    """Return the reply by which the user left while the agent was still asking or working.

    An agent that has said its last word may be left, whether it was right or wrong.
    """
    if episode.stop != "user_ended" or not (replies := episode.spoken_by("user")):
        return None
    before = [index for index in episode.spoken_by("agent") if index < replies[-1]]
    working = not before or "?" in episode.text(before[-1]) or _acts(episode, replies[-1], "ask")
    return replies[-1] if working else None


def channel_fault_at(episode: Dialogue) -> int | None:
    """Return the first reply that a fault of the user's channel spoilt, as was recorded."""
    return next(
        (index for index in episode.spoken_by("user") if episode.private(index).get("faults")), None
    )


def cut_in_progress(episode: Dialogue) -> bool:
    """True when a limit cut a dialogue that gained something by most turns, and until the end."""
    if episode.stop not in LIMITS or not episode.progress:
        return False
    steady = 2 * len(episode.progress) >= len(episode.spoken_by("agent"))
    return steady and episode.progress[-1] >= len(episode.turns) * 3 // 4


def _from_the_dialogue(episode: Dialogue, last: int | None) -> Blame:
    """Blame by what the turns show, the surest sign first."""
    signs = (
        (Party.USER, "channel_fault", channel_fault_at(episode)),
        (Party.ENVIRONMENT, "silent_tool", silent_tool_at(episode)),
        (Party.USER, "left_early", left_early_at(episode)),
        (Party.USER, "deadlock", deadlocked_at(episode)),
        (Party.CONFIGURATION, "withheld", _withheld_at(episode)),
    )
    for party, reason, turn in signs:
        if turn is not None:
            return Blame(episode, party, reason, turn)
    if cut_in_progress(episode):
        return Blame(episode, Party.CONFIGURATION, "cut_in_progress", last)
    if episode.stop == "malformed":
        return Blame(episode, Party.POLICY, "unreadable", _last_agent(episode))
    wrong = [
        index
        for index in range(len(episode.turns))
        if any(_SHOWING in event for event in episode.events(index))
    ]
    if wrong:
        return Blame(episode, Party.POLICY, "wrong_choice", wrong[0])
    reason = "dawdled" if episode.stop in LIMITS else "gave_the_wrong_answer"
    return Blame(episode, Party.POLICY, reason, _first_idle(episode))


def _withheld_at(episode: Dialogue) -> int | None:
    """A question that hit a fact which the knobs keep from ever being told."""
    return next(
        (
            index
            for index in episode.spoken_by("user")
            if episode.private(index).get("match") == "withheld"
        ),
        None,
    )


def _refuses(episode: Dialogue, index: int) -> bool:
    if episode.revealed(index) or episode.private(index).get("match") in _UNHEARD_MATCHES:
        return False
    if "act" in episode.private(index):
        return _acts(episode, index, "ask", "both", "answer")
    return "?" in _move_before(episode, index)


def _acts(episode: Dialogue, index: int, *acts: str) -> bool:
    return episode.private(index).get("act") in acts


def _move_before(episode: Dialogue, index: int) -> str:
    earlier = [place for place in episode.spoken_by("agent") if place < index]
    return " ".join(episode.text(earlier[-1]).lower().split()) if earlier else ""


def _last_agent(episode: Dialogue) -> int | None:
    spoken = episode.spoken_by("agent")
    return spoken[-1] if spoken else None


def _first_idle(episode: Dialogue) -> int | None:
    """The agent's first turn after the last one that gained something."""
    spoken = episode.spoken_by("agent")
    if not spoken:
        return None
    gained = episode.progress[-1] if episode.progress else -1
    return next((index for index in spoken if index > gained), spoken[-1])
