"""An edited verifier keeps every gold verdict: what a person has judged stays judged so.

The gold transcripts are the checkout's; the candidate's `rejudge` runs in a worker process.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainer.probe.judging import Recorded, rejudge
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.subject import SLACK, Subject, Version
from trainer.worlds.gold import Gold, read_gold
from trainer.worlds.seam import Verdict
from trainer.worlds.source import SourceError

NAME = "gold"


def check(subject: Subject, version: Version) -> Outcome:
    """Put every gold transcript to the candidate's verifier, where its code is not the checkout's.

    Source:
        tau2-bench#384, #307: checks that pass vacuously, and gold states that are wrong.
    """
    if not subject.has_own_files(version):
        return NOTHING
    try:
        gold = read_gold(subject.world.folder)
    except SourceError:
        return NOTHING
    lost: list[str] = []
    asked = [Recorded(entry.task, entry.turns) for entry in gold]
    for entry, verdict in zip(gold, rejudge(subject, version, asked, settings={}), strict=True):
        assert verdict is not None, "without a judge nothing is asked"
        lost += [f"{entry.name} ({difference})" for difference in _differences(entry, verdict)][:1]
    share = len(lost) / len(gold)
    if not lost:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"The verifier of {subject.name} loses {len(lost)} of {len(gold)} gold verdicts: "
                f"{'; '.join(lost[:3])}.",
                "Keep every gold verdict; a transcript that is labelled wrongly is for a person.",
                path=f"world.{subject.name}.verifier",
                value=len(lost),
                limit=0,
            )
        ],
    )


def _differences(gold: Gold, verdict: Verdict) -> Iterator[str]:
    if abs(verdict.success - gold.success) > SLACK:
        yield f"success {verdict.success:.3g}, not {gold.success:.3g}"
    for name, value in gold.metrics.items():
        given = verdict.metrics.get(name)
        if given is None or abs(given - value) > SLACK:
            yield f"{name} {given}, not {value:.3g}"
