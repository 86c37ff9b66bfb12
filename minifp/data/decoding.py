"""Decoding a picture file, here or in a worker process, which runs this file as a script.

It imports nothing of minifp, so that a worker starts in a fraction of a second. A worker reads
requests, one a line of JSON [path, size, mode, crop, ...], and answers each with five little-endian
32-bit numbers, (0 or TRANSPARENT, H, W, C, bytes) or (FAILED or NO_MEMORY, 0, 0, 0, bytes), and so
many bytes: pixels, or an error.
"""

import json
import signal
import struct
import sys

import numpy as np

# By content and not by name; Pillow would hand others, such as PostScript, to other programs.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "PPM", "TIFF", "WEBP")
DEEP = ("I", "F")  # Pillow's modes of more than 8 bits a pixel begin with these
HEAD = struct.Struct("<5I")
FAILED, TRANSPARENT, NO_MEMORY = 1, 2, 3


def picture(path, size, mode, crop, upright=True) -> tuple[np.ndarray, bool]:
    """Return a picture, (H, W, C) uint8, in one of Pillow's modes, "RGB" or "L"; and whether parts
    of it are transparent, which are given in the colour that nobody sees.

    size: (height, width) to which it is resized, bicubically; None leaves its own. crop: of another
    shape's picture the largest window of that shape is taken, from the middle. upright: it is
    turned as its camera has noted (EXIF). Raises what Pillow raises, and ValueError for more than 8
    bits a pixel.
    """
    from PIL import Image, ImageOps

    with Image.open(path, formats=FORMATS) as image:
        if image.mode.startswith(DEEP):
            raise ValueError(
                f"it has more than 8 bits a pixel (mode {image.mode}), and its white level is "
                "unknown: save it with 8 bits, or give its numbers to TensorDataset, such as "
                "np.asarray(Image.open(path)) / 65535"
            )
        if upright:
            image = ImageOps.exif_transpose(image)
        if image.mode == "P":
            image = image.convert("RGBA")  # which knows about a transparent colour
        alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else None
        image = image.convert(mode)
        if size is not None and image.size != (size[1], size[0]):
            box = window(image.size, size) if crop else None
            image = image.resize((size[1], size[0]), box=box)
        pixels = np.asarray(image).reshape(image.height, image.width, -1)
        return pixels, alpha is not None and alpha.getextrema()[0] < 255


def window(have, size) -> tuple:
    """(left, top, right, bottom) of the largest window in the middle, in the shape of `size`.

    have: (width, height), as Pillow says it; size: (height, width).
    """
    width, height = have
    scale = min(width / size[1], height / size[0])
    left, top = (width - size[1] * scale) / 2, (height - size[0] * scale) / 2
    left, top = max(left, 0.0), max(top, 0.0)  # which rounding may have passed
    return left, top, width - left, height - top


def serve(requests, answers) -> None:
    """Answer requests until there are no more."""
    for line in requests:
        try:
            pixels, is_transparent = picture(*json.loads(line))
            head, body = (TRANSPARENT * is_transparent, *pixels.shape), pixels.tobytes()
        except MemoryError as error:
            head, body = (NO_MEMORY, 0, 0, 0), str(error).encode("utf-8", errors="replace")
        except Exception as error:  # Pillow has an error for each way a file can be damaged
            head, body = (FAILED, 0, 0, 0), str(error).encode("utf-8", errors="replace")
        answers.write(HEAD.pack(*head, len(body)))
        answers.write(body)
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks, who then closes the pipe
    serve(sys.stdin.buffer, sys.stdout.buffer)
