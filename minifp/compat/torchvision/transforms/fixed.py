"""Transforms that draw nothing: each calls the function of its name, with its settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torchvision.transforms import functional as F
from minifp.compat.torchvision.transforms.functional import InterpolationMode
from minifp.errors import ArgumentError


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
    """A function of your own. Raises ArgumentError for what is none."""

    lambd: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.lambd):
            raise ArgumentError(f"Lambda({self.lambd!r}): expected a function")

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


@dataclass(eq=False)
class ToTensor:
    """A picture, or an array (H, W, C), as a tensor (C, H, W) of floats; of bytes 0 to 1."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


@dataclass(eq=False)
class PILToTensor:
    """A picture as a tensor (C, H, W) of its own numbers."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


@dataclass(eq=False)
class ToPILImage:
    """A tensor (C, H, W), or an array (H, W, C), as a picture."""

    mode: str | None = None

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)


@dataclass(eq=False)
class Normalize:
    """(tensor - mean) / std, of each channel."""

    mean: Any
    std: Any
    inplace: bool = False

    def __call__(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


@dataclass(eq=False)
class Resize:
    """In another size: (height, width), or a number for the shorter side."""

    size: Any
    interpolation: Any = InterpolationMode.BILINEAR
    max_size: int | None = None
    antialias: bool | None = True

    def __post_init__(self) -> None:
        F.pair(self.size)
        F.resampling(self.interpolation)

    def __call__(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


@dataclass(eq=False)
class CenterCrop:
    """The window of this size in the middle."""

    size: Any

    def __post_init__(self) -> None:
        self.size = F.pair(self.size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


@dataclass(eq=False)
class Pad:
    """With pixels around it: see functional.pad."""

    padding: Any
    fill: Any = 0
    padding_mode: str = "constant"

    def __call__(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


@dataclass(eq=False)
class Grayscale:
    """In grey, of 1 or 3 channels."""

    num_output_channels: int = 1

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)
