"""numba's cache on disk, of which nothing that fails ends a program, and which loads nothing that
others may have written: numba unpickles what it finds.
"""

import io
import pickle
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path

from numba.core.caching import IndexDataCacheFile

from minifp.runtime.cpu.compile.kernel_cache import new_file, places, read, warn_unkept

STAMP = "as the folder says"  # whose name has a hash of the sources


class Tolerant:
    """numba's cache of one kernel, of which nothing that fails ends a program.

    A file that is cut off, a full disk, a folder that is gone, or what another process has written
    at the same time: the kernel is compiled, and a warning says so, once.
    """

    def __init__(self, cache):
        self.cache, self.folder = cache, Path(cache.cache_path).parent
        base = cache._impl.filename_base  # the same wherever the sources lie, and whenever copied
        others = (place / self.folder.name for place in places() if place != self.folder.parent)
        cache._cache_file = Files(self.folder, base, others)

    def __getattr__(self, name):
        return getattr(self.cache, name)

    def load_overload(self, sig, context):
        """The kernel for these types, or None where there is none that can be used."""
        try:
            found = self.cache.load_overload(sig, context)
            if found is None or tuple(found.signature.args) == tuple(getattr(sig, "args", sig)):
                return found
        except MemoryError:
            raise
        except Exception as error:  # unpickling what is damaged raises anything
            warn_unkept(self.folder, error)
        with suppress(Exception):
            self.cache.flush()
        return None

    def save_overload(self, sig, data):
        """Keep a kernel, if that is possible."""
        try:
            self.cache.save_overload(sig, data)
        except MemoryError:
            raise
        except Exception as error:
            warn_unkept(self.folder, error)
            with suppress(Exception):
                self.cache.flush()  # or it may name a file of another kernel


class Files(IndexDataCacheFile):
    """The files of one kernel, which numba unpickles: in the user's folder, and in those that may
    only be read, as far as nobody else can have written them."""

    def __init__(self, folder, base, others=()):
        super().__init__(str(folder), base, STAMP)
        self.others = [Files(other, base) for other in others]

    def load(self, key):
        """What is kept under a key, or None."""
        found = (super(Files, one).load(key) for one in (self, *self.others))
        return next((data for data in found if data is not None), None)

    def _load_index(self):
        data = read(Path(self._cache_path), self._index_name)
        if data is None:
            return {}
        stream = io.BytesIO(data)
        if pickle.load(stream) != self._version:
            return {}
        stamp, overloads = pickle.load(stream)
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name):
        data = read(Path(self._cache_path), name)
        return None if data is None else pickle.loads(data)

    @contextmanager
    def _open_for_write(self, filepath):
        aside = Path(f"{filepath}.{secrets.token_hex(8)}")
        try:
            with new_file(aside) as file:
                yield file
            aside.replace(filepath)
        finally:
            aside.unlink(missing_ok=True)
