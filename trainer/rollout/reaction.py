"""Reactions: what a user's private strategy says about the segment that it answers.

The label of a reply is worth +1, 0 or -1 to the agent's segment before it. Labels live in the
private part of a turn; a reaction travels beside the tokens of a trajectory and never among them.
This module knows nothing about tokens or advantages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.episode import Speaker, Turn
from trainer.trajectory import Reaction
from trainer.users.inferred import infer_strategy
from trainer.users.strategy import Strategy, read_strategy

POLARITY: Mapping[Strategy, int] = {
    Strategy.CONFIRM: 1,
    Strategy.CLOSE: 1,
    Strategy.REVEAL_PIECE: 1,
    Strategy.BE_VAGUE: 0,
    Strategy.INVALID: 0,
    Strategy.ASK_CLARIFICATION: -1,
    Strategy.CHALLENGE_SOLUTION: -1,
    Strategy.CHANGE_MIND: -1,
}
"""What each label is worth (Faca, table 1)."""


def reaction(turn: Turn) -> Reaction:
    """Return how a user's turn takes the segment before it.

    A turn without any label, as of a user whose model writes words alone, is read by its words
    (`trainer.users.inferred`); a label that cannot be used stays invalid.
    """
    if "strategy" in turn.private:
        strategy = read_strategy(turn.private["strategy"])
    else:
        strategy = infer_strategy(turn.text, revealed=turn.revealed)
    return Reaction(POLARITY[strategy], valid=strategy is not Strategy.INVALID)


def reactions(turns: Sequence[Turn]) -> tuple[Reaction, ...]:
    """Return the reaction to each segment that a user's reply ended, in order.

    The first segment begins with the user's opening words, which answer nothing. Reply q after
    them ends segment q, counted from 0, so the position is the segment's index.

    Args:
        turns: A dialogue from its beginning.
    """
    found: list[Reaction] = []
    agent_spoke = False
    for turn in turns:
        agent_spoke = agent_spoke or turn.speaker is Speaker.AGENT
        if agent_spoke and turn.speaker is Speaker.USER:
            found.append(reaction(turn))
    return tuple(found)
