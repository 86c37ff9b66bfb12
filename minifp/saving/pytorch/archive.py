"""The zip around a pickle and its storages, as PyTorch writes it: `archive/data.pkl`, the bytes of
each storage in `archive/data/0` and so on, and what says of which version and byte order they are.

Nothing is compressed, so a file unpacks into no more than it is. Each storage begins at a multiple
of 64 bytes, so that PyTorch can map it into memory.
"""

import io
import struct
import zipfile

import numpy as np

from minifp.errors import CheckpointError
from minifp.runtime.file_kinds import kind_of

START = b"PK\x03\x04"  # of every zip that is not empty
ALIGNED = 64  # bytes
HEADER, WIDE_HEADER = 30, 20  # bytes before a name; of what a file of over 2 GiB has behind it
SAYS = {"byteorder": b"little", "version": b"3\n", ".format_version": b"1"}
SAYS |= {".storage_alignment": b"64"}
SCRIPT = "a program of TorchScript: in PyTorch, torch.save(torch.jit.load(path).state_dict(), path)"


class Archive:
    """What a file holds. Raises CheckpointError for a zip that is not PyTorch's, and what zipfile
    raises for one that is damaged."""

    def __init__(self, content: bytes) -> None:
        self.zip = zipfile.ZipFile(io.BytesIO(content))
        infos = self.zip.infolist()
        self.infos = {info.filename: info for info in infos}
        self.folder = next(iter(self.infos), "").partition("/")[0]
        if f"{self.folder}/data.pkl" not in self.infos:
            raise CheckpointError(f"this is {kind_of(content) or 'no file of PyTorch'}")
        if f"{self.folder}/constants.pkl" in self.infos:
            raise CheckpointError(f"this is {SCRIPT}")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise CheckpointError("its parts are compressed: expected them as PyTorch writes them")
        if len(self.infos) < len(infos) or sum(i.file_size for i in infos) > len(content):
            raise CheckpointError("damaged: its parts overlap, or are there twice")
        order = self.zip.read(f"{self.folder}/byteorder") if self._has("byteorder") else b"little"
        if order != b"little":
            raise CheckpointError(f"its numbers are {order[:20]!r}: expected little-endian ones")

    def _has(self, name):
        return f"{self.folder}/{name}" in self.infos

    def pickle(self) -> bytes:
        """The pickle of what was saved."""
        return self.zip.read(f"{self.folder}/data.pkl")

    def storage(self, key: str, nbytes: int) -> np.ndarray:
        """The bytes of a storage, to be written to. Raises ValueError where they are not there, or
        are more or fewer."""
        if not self._has(f"data/{key}"):
            raise ValueError(f"a tensor in the storage {key[:40]!r}, which is not there")
        size = self.infos[f"{self.folder}/data/{key}"].file_size
        if size != nbytes:
            raise ValueError(f"{nbytes} bytes in the storage {key[:40]!r}, which has {size}")
        return np.frombuffer(self.zip.read(f"{self.folder}/data/{key}"), np.uint8).copy()


def packed(pickle: bytes, storages: list[bytes]) -> bytes:
    """The file of a pickle and of its storages, which it calls "0", "1" and so on."""
    parts: dict[str, bytes] = {"data.pkl": pickle, **SAYS}
    parts |= {f"data/{n}": storage for n, storage in enumerate(storages)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            info = zipfile.ZipInfo(f"archive/{name}")
            info.extra = _padding(buffer.tell(), info.filename, len(content))
            file.writestr(info, content)
    return buffer.getvalue()


def _padding(position, name, size):
    """A field of a header after which the content of a part begins at a multiple of ALIGNED."""
    start = position + HEADER + len(name) + 4
    start += WIDE_HEADER * (size > zipfile.ZIP64_LIMIT)
    count = -start % ALIGNED
    return b"FB" + struct.pack("<H", count) + b"Z" * count
