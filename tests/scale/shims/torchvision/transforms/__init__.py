"""Names alone (see `torchvision.absent`), and the ways to resize, which are only named too."""

from enum import Enum

from torchvision.absent import __getattr__

__all__ = ["InterpolationMode", "__getattr__"]


class InterpolationMode(Enum):
    """Ways to fill in pixels."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"
