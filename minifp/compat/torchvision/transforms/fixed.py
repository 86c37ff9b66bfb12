"""Transforms that draw nothing: functions of functional.py with their settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from minifp.compat.torchvision.transforms import functional as F

__all__ = ["CenterCrop", "Compose", "Grayscale", "Lambda", "Normalize", "PILToTensor", "Pad"]
__all__ += ["Resize", "ToPILImage", "ToTensor"]


@dataclass(eq=False)
class Compose:
    """Transforms one after the other."""

    transforms: Sequence[Callable[[Any], Any]]

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img


@dataclass(eq=False)
class Lambda:
    """A function of your own."""

    lambd: Callable[[Any], Any]

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class Applied:
    """Calls a function with a picture and the settings that it is made with, which are attributes
    by the function's names. Raises TypeError for settings that the function does not have."""

    function: Callable[..., Any]

    def __init_subclass__(cls, of: Callable[..., Any]) -> None:
        cls.function = staticmethod(of)

    def __init__(self, *args: Any, **settings: Any) -> None:
        bound = signature(self.function).bind(None, *args, **settings)
        bound.apply_defaults()
        self.names = [*bound.arguments][1:]
        vars(self).update((name, bound.arguments[name]) for name in self.names)

    def __call__(self, img: Any) -> Any:
        return self.function(img, *(getattr(self, name) for name in self.names))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.names)
        return f"{type(self).__name__}({settings})"


class ToTensor(Applied, of=F.to_tensor):
    """A picture, or an array (H, W, C), as a tensor (C, H, W) of floats; of bytes 0 to 1."""


class PILToTensor(Applied, of=F.pil_to_tensor):
    """A picture as a tensor (C, H, W) of its own numbers."""


class ToPILImage(Applied, of=F.to_pil_image):
    """A tensor (C, H, W), or an array (H, W, C), as a picture."""


class Normalize(Applied, of=F.normalize):
    """(tensor - mean) / std, of each channel."""


class Resize(Applied, of=F.resize):
    """In another size: (height, width), or a number for the shorter side."""


class CenterCrop(Applied, of=F.center_crop):
    """The window of this size in the middle."""


class Pad(Applied, of=F.pad):
    """With pixels around it."""


class Grayscale(Applied, of=F.rgb_to_grayscale):
    """In grey, of 1 or 3 channels."""
