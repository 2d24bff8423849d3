"""Paths of a run directory, each named once.

Every program finds a file of a run by these names; nothing here reads or writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class OutsideRoot(ValueError):
    """A path that leads out of the directory it must stay in."""


@dataclass(frozen=True)
class RunPaths:
    """The places in one run directory."""

    root: Path
    """The directory of the run, such as `runs/2026-03-01-a`."""

    @property
    def launch(self) -> Path:
        """The launch record, never changed."""
        return self.root / "run.yaml"

    @property
    def status(self) -> Path:
        """The observed state, replaced at every step."""
        return self.root / "status.json"

    @property
    def knobs(self) -> Path:
        """The desired state: the directory of the live knob files."""
        return self.root / "knobs"

    @property
    def world(self) -> Path:
        """The worlds in force, by numbered revision."""
        return self.root / "world"

    @property
    def candidate(self) -> Path:
        """The meta-agent's working copy."""
        return self.root / "candidate"

    @property
    def proposals(self) -> Path:
        """What the meta-agent wants in force, and the gate's reports."""
        return self.root / "proposals"

    @property
    def experiments(self) -> Path:
        """Open tests."""
        return self.root / "experiments"

    @property
    def ledger(self) -> Path:
        """Every revision and outcome, append-only and chained."""
        return self.root / "ledger.jsonl"

    @property
    def steps(self) -> Path:
        """One record per training step."""
        return self.root / "steps.jsonl"

    @property
    def events(self) -> Path:
        """Typed events."""
        return self.root / "events.jsonl"

    @property
    def episodes(self) -> Path:
        """The directory with one file of episodes per step."""
        return self.root / "episodes"

    @property
    def checkpoints(self) -> Path:
        """The directory of checkpoints."""
        return self.root / "checkpoints"

    @property
    def supervisor(self) -> Path:
        """What each tick of a meta-agent saw, did and cost."""
        return self.root / "supervisor"

    @property
    def tracking(self) -> Path:
        """What followers of the run keep, a folder for each tracker; no record is among it."""
        return self.root / "tracking"

    @property
    def staging(self) -> Path:
        """Contents of a revision on their way into force; empty between transactions."""
        return self.root / ".staging"

    @property
    def probe(self) -> Path:
        """What the probe under way works with; gone when none is."""
        return self.root / ".probe"

    def knob_file(self, name: str) -> Path:
        """The live knob file of one of the four names, such as `user`."""
        return self.knobs / f"{name}.yaml"

    def world_revision(self, number: int) -> Path:
        """The folder with all worlds of one revision, such as `world/0000`."""
        return self.world / f"{number:04d}"

    def episodes_of(self, step: int) -> Path:
        """The file with the episodes of one training step."""
        return self.episodes / f"{step:06d}.jsonl"

    def checkpoint(self, step: int) -> Path:
        """The directory of the checkpoint written after one training step."""
        return self.checkpoints / f"step-{step:06d}"

    def proposal(self, number: int) -> Path:
        """One proposal; numbers start at 1."""
        return self.proposals / f"{number:04d}.yaml"

    def draft(self, number: int) -> Path:
        """One proposal that waits for a person; it is taken up when they apply it."""
        return self.proposals / f"{number:04d}.draft.yaml"

    def experiment(self, number: int) -> Path:
        """One test; numbers start at 1."""
        return self.experiments / f"{number:04d}.yaml"

    def restart(self, number: int) -> Path:
        """One request that the run be launched again."""
        return self.proposals / f"{number:04d}.restart.json"

    def report(self, number: int) -> Path:
        """The gate's report on one proposal."""
        return self.proposals / f"{number:04d}.report.json"

    def patch(self, number: int) -> Path:
        """The patch of the code that a proposal is about."""
        return self.proposals / f"{number:04d}.patch"


def inside(root: Path, path: Path | str) -> Path:
    """Return where a path leads, links followed, if that is inside a directory.

    Args:
        root: The directory to stay in.
        path: Absolute, or relative to `root`. It need not exist.

    Raises:
        OutsideRoot: if it leads anywhere else, by `..`, by a link or by being absolute.
    """
    home = root.resolve()
    target = (home / path).resolve()
    if not target.is_relative_to(home):
        raise OutsideRoot(f"{path} leads to {target}, outside {home}; name a path inside it")
    return target
