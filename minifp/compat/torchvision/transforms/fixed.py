"""Transforms that draw nothing: functions of functional.py with their settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from minifp.compat.torchvision.transforms import functional as F


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


class ToTensor(Applied):
    """A picture, or an array (H, W, C), as a tensor (C, H, W) of floats; of bytes 0 to 1."""

    function = staticmethod(F.to_tensor)


class PILToTensor(Applied):
    """A picture as a tensor (C, H, W) of its own numbers."""

    function = staticmethod(F.pil_to_tensor)


class ToPILImage(Applied):
    """A tensor (C, H, W), or an array (H, W, C), as a picture."""

    function = staticmethod(F.to_pil_image)


class Normalize(Applied):
    """(tensor - mean) / std, of each channel."""

    function = staticmethod(F.normalize)


class Resize(Applied):
    """In another size: (height, width), or a number for the shorter side."""

    function = staticmethod(F.resize)


class CenterCrop(Applied):
    """The window of this size in the middle."""

    function = staticmethod(F.center_crop)


class Pad(Applied):
    """With pixels around it."""

    function = staticmethod(F.pad)


class Grayscale(Applied):
    """In grey, of 1 or 3 channels."""

    function = staticmethod(F.rgb_to_grayscale)
