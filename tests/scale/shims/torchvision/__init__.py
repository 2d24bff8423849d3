"""An empty torchvision: SGLang imports it at its start, and a model of text never uses it.

The one on the package index is built for CUDA and does not load beside a torch built for CPUs.
"""

from torchvision import io, transforms

__all__ = ["io", "transforms"]
__version__ = "0.28.0"
