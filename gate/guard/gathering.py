"""What the rules need to know about a run, gathered from its records in bounded time.

Reading only: no lock is taken and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.contract import evaluation_words, files, launch_record, protected
from gate.contract.paths import RunPaths
from gate.contract.proposals import Proposal
from gate.rules.change_set import Known, Recorded

LARGEST_EPISODES = 1 << 26
"""Bytes of one step's file of episodes that are searched for a cited one."""


def gather(run: RunPaths, proposal: Proposal, *, last_step: int, worlds: Sequence[str]) -> Known:
    """Return what is known about a run when a proposal is judged.

    Args:
        run: The run.
        proposal: What is judged; only the records that it cites are looked for.
        last_step: The last training step on record.
        worlds: Names of the run's worlds.
    """
    record = launch_record.read(run.root)
    recorded = any(path.split("/")[0] in protected.TREES for path in record.protected)
    return Known(
        last_step=last_step,
        episodes=frozenset(one for one in proposal.episodes if _line(run, one) is not None),
        verdicts={
            one.episode: found
            for one in proposal.false_verdicts
            if (found := _recorded(run, one.episode)) is not None
        },
        evaluation_words=evaluation_words.words(worlds),
        protected_differences=(
            protected.differences(record.protected, protected.digests()) if recorded else ()
        ),
        protected_recorded=recorded,
        attempt=launch_record.attempt(run.root),
    )


def _line(run: RunPaths, episode: str) -> bytes | None:
    """Return the line that holds an episode on record, without parsing the rest of its file.

    A quote inside a text of a record is escaped, so the bytes looked for stand nowhere else.
    """
    path = run.episodes_of(int(episode.partition("-")[0]))
    try:
        content = files.read_plain(path, most=LARGEST_EPISODES)
    except OSError:
        return None
    found = content.find(f'"id":"{episode}"'.encode())
    if found < 0:
        return None
    end = content.find(b"\n", found)
    return content[content.rfind(b"\n", 0, found) + 1 : end if end >= 0 else len(content)]


def _recorded(run: RunPaths, episode: str) -> Recorded | None:
    """Return what the record of an episode says about its verdict; None without a record."""
    line = _line(run, episode)
    record = None if line is None else files.parse_line(line)[0]
    if record is None:
        return None
    success = record.get("success")
    return Recorded(str(record.get("world")), None if success is None else float(success))
