"""torchvision.transforms.functional: a picture of Pillow's, or a tensor (..., C, H, W), changed.

What Pillow alone computes (rotation, colours) takes its pictures only, and refuses tensors.
"""

import math
import sys
from collections.abc import Sequence
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn.functional import pad as padded
from minifp.numerics.formats import float32, wider
from minifp.ops.creation import storage_dtype

OF_PILLOW = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
OF_PILLOW["nearest-exact"] = 0
MODES = {name.upper().replace("-", "_"): name for name in OF_PILLOW}
make_enum: Any = Enum
InterpolationMode = make_enum("InterpolationMode", MODES)
BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST
DEEP = {"I": np.int32, "I;16": np.int16, "F": np.float32}  # pictures of other than bytes
OTHERS = {"RGB": ("YCbCr", "HSV"), "RGBA": ("CMYK", "RGBX")}  # with as many channels
PADDING = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "symmetric": None}


def is_picture(image: Any) -> bool:
    """Whether it is one of Pillow's, which are there only where somebody has imported Pillow."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(image, pillow.Image)


def need(name: str, image: Any, *kinds: str) -> None:
    """Raise DTypeError for what is none of these kinds: "picture", "tensor"."""
    kind = "picture" if is_picture(image) else "tensor" if isinstance(image, Tensor) else ""
    if kind not in kinds:
        place = "before" if kinds == ("picture",) else "after"
        hint = f": put it {place} ToTensor" if kind else ""
        each = " or ".join({"picture": "a picture of Pillow's"}.get(k, f"a {k}") for k in kinds)
        raise DTypeError(f"{name} of a {type(image).__name__}: expected {each}{hint}")


def resampling(interpolation: Any) -> int:
    """Pillow's number of an InterpolationMode, or of one of these numbers. Raises ArgumentError."""
    number = OF_PILLOW.get(getattr(interpolation, "value", ""), interpolation)
    if number not in OF_PILLOW.values():
        raise ArgumentError(f"interpolation={interpolation!r}: expected an InterpolationMode")
    return int(number)


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width]."""
    need("get_dimensions", img, "picture", "tensor")
    if is_picture(img):
        return [len(img.getbands()), img.height, img.width]
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


# ---- pictures, arrays, tensors -------------------------------------------------------------------


def channels_first(pixels: np.ndarray) -> np.ndarray:
    """A copy (C, H, W) of pixels (H, W, C) or (H, W)."""
    return np.array(np.atleast_3d(pixels).transpose(2, 0, 1), order="C")


def pil_to_tensor(pic: Any) -> Tensor:
    """The numbers of a picture, (C, H, W), as they are."""
    need("pil_to_tensor", pic, "picture")
    return Tensor(channels_first(np.array(pic, DEEP.get(pic.mode, np.uint8))))


def to_tensor(pic: Any) -> Tensor:
    """A picture, or an array (H, W) or (H, W, C), as a tensor (C, H, W); of bytes 0 to 1."""
    if isinstance(pic, np.ndarray) and pic.ndim in (2, 3):
        array = channels_first(pic)
    elif is_picture(pic):
        array = pil_to_tensor(pic.convert("L") if pic.mode == "1" else pic).array
    else:
        raise DTypeError(f"to_tensor of a {type(pic).__name__}: expected a picture, or an array")
    if array.dtype == np.uint8:
        dtype = np.dtype(wider(float32, storage_dtype()))
        array = array.astype(dtype) / dtype.type(255)
    return Tensor(array)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W) or (H, W), or an array (H, W, C) or (H, W), as a picture; floats are 0 to
    1. mode: Pillow's, where it is not the usual one of so many channels."""
    array = pic.detach().cpu().numpy() if isinstance(pic, Tensor) else pic
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3):
        raise DTypeError(f"to_pil_image of a {type(pic).__name__}: expected a tensor (C, H, W)")
    is_first = isinstance(pic, Tensor) and array.ndim == 3
    array = np.atleast_3d(array.transpose(1, 2, 0) if is_first else array)
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.int64).astype(np.uint8)
    if array.shape[2] not in (1, 2, 3, 4):
        raise ShapeError(f"to_pil_image of {array.shape[2]} channels: expected 1 to 4")
    array = np.ascontiguousarray(array[..., 0] if array.shape[2] == 1 else array)
    image = import_module("PIL.Image")
    usual = image.fromarray(array)
    if mode in (None, usual.mode):
        return usual
    if mode not in OTHERS.get(usual.mode, ()):
        others = ", ".join([usual.mode, *OTHERS.get(usual.mode, ())])
        raise ArgumentError(f"to_pil_image: mode={mode!r}: expected one of {others}")
    return image.frombytes(mode, usual.size, array.tobytes())


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """(tensor - mean) / std, one of each for all channels or for each. Raises ArgumentError for a
    std of 0, and ShapeError for other numbers of channels."""
    need("normalize", tensor, "tensor")
    if not tensor.is_floating_point():
        raise DTypeError(f"normalize of a tensor of {tensor.dtype}: expected floats, as ToTensor's")
    try:
        numbers = [np.asarray(n, np.float64).reshape(-1, 1, 1) for n in (mean, std)]
    except (TypeError, ValueError):
        raise ArgumentError(f"normalize: mean={mean!r}, std={std!r}: expected numbers") from None
    if not numbers[1].all():
        raise ArgumentError(f"normalize: std={std!r}: expected numbers other than 0")
    channels = get_dimensions(tensor)[0]
    if any(len(n) not in (1, channels) for n in numbers):
        expected = f"one number of each, or {channels}, one for each channel"
        raise ShapeError(f"normalize: mean={mean!r}, std={std!r}: expected {expected}")
    by, over = (Tensor(n).to(tensor.dtype) for n in numbers)
    changed = (tensor - by) / over
    return tensor.copy_(changed) if inplace else changed


# ---- sizes ---------------------------------------------------------------------------------------


def pair(size: Any) -> tuple[int, int]:
    """(height, width) of a number, or of one or two in a row. Raises ArgumentError."""
    sizes = [*size] if isinstance(size, Sequence) and not isinstance(size, str) else [size]
    if len(sizes) not in (1, 2):
        raise ArgumentError(f"size={size!r}: expected a number, or (height, width)")
    for number in sizes:
        check_range("size", number, 1)
    return int(sizes[0]), int(sizes[-1])


def span(name: str, value: Any, middle: float = 0.0, most: float = math.inf) -> tuple[float, float]:
    """A range, from middle - value to middle + value where it is one number; -most to most at the
    widest. Raises ArgumentError for others."""
    ends = [*value] if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if len(ends) == 1:
        check_range(name, ends[0], 0, most)
        return float(middle - ends[0]), float(middle + ends[0])
    if len(ends) != 2 or ends[0] > ends[1]:
        raise ArgumentError(f"{name}={value!r}: expected a number of at least 0, or (low, high)")
    for number in ends:
        check_range(name, number, -most, most)
    return float(ends[0]), float(ends[1])


def resized(height: int, width: int, size: Any, max_size: int | None) -> tuple[int, int]:
    """The (height, width) of a picture that is resized: to a pair, or with a number for its shorter
    side, and its longer one at most max_size."""
    if isinstance(size, Sequence) and len(size) == 2:
        if max_size is not None:
            raise ArgumentError("resize: max_size is for a size of one number, the shorter side")
        return pair(size)
    short, long = pair(size)[0], int(pair(size)[0] * max(height, width) / min(height, width))
    if max_size is not None and max_size <= short:
        raise ArgumentError(f"resize: max_size={max_size}: expected more than size={short}")
    if max_size is not None and long > max_size:
        short, long = int(max_size * short / long), max_size
    return (long, short) if width <= height else (short, long)


def resize(
    img: Any,
    size: Any,
    interpolation: Any = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """img in another size. Of a tensor each channel is resized by Pillow, which is torchvision's
    antialias=True but for the rounding of its weights. Raises ArgumentError for other tensors."""
    _, height, width = get_dimensions(img)
    new = resized(height, width, size, max_size)
    if new == (height, width):
        return img
    if is_picture(img):
        return img.resize(new[::-1], resampling(interpolation))
    is_plain = img.dtype == float32 and not img.requires_grad
    if not (antialias and is_plain and resampling(interpolation)):
        expected = "float32 without a gradient, and bilinear or bicubic with antialias"
        raise ArgumentError(f"resize of a tensor: expected {expected}: F.interpolate does others")
    planes = np.ascontiguousarray(img.numpy()).reshape(-1, height, width)
    image = import_module("PIL.Image")
    pictures = (resize(image.fromarray(p), new, interpolation) for p in planes)
    return Tensor(np.stack([np.asarray(p) for p in pictures]).reshape(*img.shape[:-2], *new))


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """img with pixels around it. padding: of all sides; (left and right, top and bottom); or (left,
    top, right, bottom). fill: a number, or of a picture one for each channel. Raises ArgumentError
    for a padding_mode other than constant, edge, reflect and (of pictures) symmetric."""
    need("pad", img, "picture", "tensor")
    sides = [padding] if isinstance(padding, int) else [*padding]
    if len(sides) not in (1, 2, 4):
        raise ArgumentError(f"pad: padding={padding!r}: expected 1, 2 or 4 numbers")
    left, top, right, bottom = sides * (4 // len(sides))
    mode = PADDING.get(padding_mode)
    if padding_mode not in PADDING or (mode is None and not is_picture(img)):
        modes = ", ".join(m for m, own in PADDING.items() if own or is_picture(img))
        kind = f"padding_mode={padding_mode!r} of a {type(img).__name__}"
        raise ArgumentError(f"pad: {kind}: expected one of {modes}")
    if not is_picture(img):
        return padded(img, (left, right, top, bottom), str(mode), fill or None)
    if mode == "constant":
        expand = import_module("PIL.ImageOps").expand
        return expand(img, (left, top, right, bottom), colour(fill, img))
    array, how = np.asarray(img), dict[str, Any](mode=padding_mode)
    how["pad_width"] = [(top, bottom), (left, right), (0, 0)][: array.ndim]
    return import_module("PIL.Image").fromarray(np.pad(array, **how))


def colour(fill: Any, img: Any) -> Any:
    """What Pillow fills with. Raises ArgumentError for other numbers than one or one a channel."""
    bands = len(img.getbands())
    each = [0 if fill is None else fill] if not isinstance(fill, Sequence) else [*fill]
    if len(each) not in (1, bands):
        raise ArgumentError(f"fill={fill!r}: expected a number, or {bands}, one for each band")
    numbers = tuple(n if img.mode == "F" else int(n) for n in each * (bands // len(each)))
    return numbers if bands > 1 else numbers[0]


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The window of img, with zeros where it reaches out of it."""
    _, rows, columns = get_dimensions(img)
    if is_picture(img):
        return img.crop((left, top, left + width, top + height))
    bottom, right = top + height, left + width
    window = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    around = (max(-left, 0), max(right - columns, 0), max(-top, 0), max(bottom - rows, 0))
    return padded(window, around) if any(around) else window


def center_crop(img: Any, size: Any) -> Any:
    """The window in the middle, with zeros around an img that is smaller."""
    (height, width), (_, rows, columns) = pair(size), get_dimensions(img)
    more = max(width - columns, 0), max(height - rows, 0)
    if any(more):
        img = pad(img, (more[0] // 2, more[1] // 2, (more[0] + 1) // 2, (more[1] + 1) // 2))
        _, rows, columns = get_dimensions(img)
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """`resize` of `crop`."""
    return resize(crop(img, top, left, height, width), pair(size), interpolation, None, antialias)


# ---- places --------------------------------------------------------------------------------------


def hflip(img: Any) -> Any:
    """img mirrored, left to right."""
    need("hflip", img, "picture", "tensor")
    return img.transpose(0) if is_picture(img) else img.flip(-1)


def vflip(img: Any) -> Any:
    """img mirrored, top to bottom."""
    need("vflip", img, "picture", "tensor")
    return img.transpose(1) if is_picture(img) else img.flip(-2)


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """A picture turned counterclockwise by degrees around its middle, or center, (x, y)."""
    need("rotate", img, "picture")
    how = resampling(interpolation)
    return img.rotate(angle, how, expand, center, fillcolor=colour(fill, img))


def backwards(center: Any, angle: float, translate: Any, scale: float, shear: Any) -> list[float]:
    """The matrix, row by row, that leads from a place of an affine picture to its place before.

    It undoes, around the center, a turn by an angle and a shear by two (degrees) and a scaling, and
    a translation in pixels.
    """
    turn, over, down = (math.radians(n) for n in (angle, *shear))
    (cx, cy), (tx, ty) = center, translate
    cos, sin = (f(turn - down) / math.cos(down) for f in (math.cos, math.sin))
    a, b = cos, -cos * math.tan(over) - math.sin(turn)
    c, d = sin, -sin * math.tan(over) + math.cos(turn)
    rows = [[n / scale for n in row] for row in ((d, -b), (-c, a))]
    (p, q), (r, s) = rows
    x, y = cx + tx, cy + ty
    return [p, q, cx - p * x - q * y, r, s, cy - r * x - s * y]


def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: Any = NEAREST,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """A picture turned clockwise by degrees, moved by (right, down) pixels, scaled, and sheared by
    degrees along x, or along x and y; around its middle, or center, (x, y)."""
    need("affine", img, "picture")
    shears = [*shear] if isinstance(shear, Sequence) else [shear]
    middle = [img.width / 2, img.height / 2] if center is None else center
    matrix = backwards(middle, angle, translate, scale, [*shears, 0.0][:2])
    method = import_module("PIL.Image").Transform.AFFINE
    how = resampling(interpolation)
    return img.transform(img.size, method, matrix, how, fillcolor=colour(fill, img))


# ---- colours -------------------------------------------------------------------------------------


def enhanced(kind: str, img: Any, factor: float) -> Any:
    """A picture as a class of Pillow's ImageEnhance changes it."""
    need(f"a change of {kind.lower()}", img, "picture")
    return vars(import_module("PIL.ImageEnhance"))[kind](img).enhance(factor)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """A picture that is so many times as bright."""
    return enhanced("Brightness", img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """A picture whose differences from its mean grey are so many times as large."""
    return enhanced("Contrast", img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """A picture whose colours are so many times as far from grey."""
    return enhanced("Color", img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """A picture with its hues moved by a part of the circle, -0.5 to 0.5; of grey nothing moves."""
    need("adjust_hue", img, "picture")
    if not -0.5 <= hue_factor <= 0.5:
        raise ArgumentError(f"adjust_hue: hue_factor={hue_factor!r}: expected -0.5 to 0.5")
    if img.mode in ("L", "1", "I", "F"):
        return img
    image = import_module("PIL.Image")
    hue, saturation, value = img.convert("HSV").split()
    moved = (np.asarray(hue).astype(np.int32) + int(hue_factor * 255)) % 256
    bands = image.fromarray(moved.astype(np.uint8)), saturation, value
    return image.merge("HSV", bands).convert(img.mode)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A picture in grey, of 1 or 3 channels."""
    need("rgb_to_grayscale", img, "picture")
    if num_output_channels not in (1, 3):
        raise ArgumentError(f"num_output_channels={num_output_channels}: expected 1 or 3")
    grey = img.convert("L")
    return grey if num_output_channels == 1 else import_module("PIL.Image").merge("RGB", [grey] * 3)


to_grayscale = rgb_to_grayscale


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    """A tensor with the numbers v in a window: from row i and column j on."""
    need("erase", img, "tensor")
    changed = img if inplace else img.clone()
    changed[..., i : i + h, j : j + w] = v
    return changed
