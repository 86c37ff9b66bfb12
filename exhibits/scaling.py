"""Claims about the loss scale: any that is large enough will do, and skipped steps do no harm."""

from minifp.exhibits import bathtub, skips

EXHIBITS = (*skips.EXHIBITS, *bathtub.EXHIBITS)
