"""What a process runs that multiprocessing spawns for a script: the script, as multiprocessing does
it, but with minifp's `import torch`. It computes in the precision that the environment says."""

import os
import runpy
from collections.abc import Callable
from multiprocessing import spawn
from typing import Any

VARIABLE = "MINIFP_RUN_SCRIPT"  # by which the process is told of the script


def follow(path: str) -> None:
    """Let processes that are spawned from now on run a script by this module."""
    os.environ[VARIABLE] = path
    setattr(spawn, "get_preparation_data", told_of_script(spawn.get_preparation_data))  # noqa: B010


def told_of_script(prepare: Callable[[str], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    """multiprocessing's function of what a new process is told, with this module in the place of
    the script."""

    def told(name: str) -> dict[str, Any]:
        data = prepare(name)
        if data.pop("init_main_from_path", None) is not None:
            data["init_main_from_name"] = __name__
        return data

    return told


if __name__ == "__mp_main__":
    from minifp.compat.torch.mirror import install

    install()
    globals().update(runpy.run_path(os.environ[VARIABLE], run_name="__mp_main__"))
