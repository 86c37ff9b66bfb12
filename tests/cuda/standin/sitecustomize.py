"""With this folder in PYTHONPATH, the first import of CuPy finds a device in the host's memory."""

import sys
from importlib.machinery import PathFinder


class Finder:
    """Puts the stand-in below CuPy before it is imported, and makes its CHANGES."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Python asks this for each module."""
        if name == "cupy":
            import standin

            standin.install()
        if name not in ("cupy", "cupy.cuda.compiler", "cupy.cuda.thrust"):
            return None
        import standin

        spec = PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            standin.CHANGES[name](module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder)
