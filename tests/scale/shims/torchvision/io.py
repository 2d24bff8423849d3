"""Names alone; see `torchvision.absent`."""

from torchvision.absent import __getattr__

__all__ = ["__getattr__"]
