"""The verifier of the calm world."""

from trainer.worlds.seam import Verdict


def judge(moves):
    """Full success after three moves."""
    return Verdict(success=min(1.0, moves / 3), reward=1.0, metrics={"moves": moves})
