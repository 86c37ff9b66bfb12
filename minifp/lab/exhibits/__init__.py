"""Claims of the literature at a size that runs on a laptop: networks, data, what came out."""

from minifp.lab.exhibits.exhibit import Exhibit, Published
from minifp.lab.exhibits.showing import Gallery, gallery

__all__ = ["Exhibit", "Gallery", "Published", "gallery"]
