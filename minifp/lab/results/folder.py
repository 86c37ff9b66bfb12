"""The folder of a comparison: begun before training, so that nothing misleading stays in it."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.lab import registration
from minifp.lab.results import latex, reproduce, store, summary, tidy
from minifp.lab.results.products import shown
from minifp.report.json_text import json_text
from minifp.runtime import locks
from minifp.saving import files


def contents(comparison, folder) -> dict:
    """All files of a folder that follow from the runs in it: by path, what they hold."""
    in_memory = comparison.runs if comparison.out is None else ()
    contents = [file for run in in_memory for file in store.kept_files(run).values()]
    return {
        **{folder / name: content for name, content in contents},
        folder / store.RUNS_TABLE: tidy.runs_csv(comparison),
        folder / store.HISTORY: tidy.history_csv(comparison),
        folder / store.LATEX: latex.table(comparison),
        folder / store.SCRIPT: reproduce.script(comparison),
        folder / store.RESULTS: json_text(summary.summary(comparison), indent=1),
        folder / registration.FILE: registration.text_of(comparison.registered),
    }


def alone_in(folder: Path | None) -> AbstractContextManager:
    """Be the only one who adds runs to a folder; nothing without one."""
    if folder is None:
        return nullcontext()
    return locks.alone(folder / locks.NAME, f"another program adds runs to {folder}")


def save(comparison, folder, more=None) -> None:
    """Write what follows from the runs, and more files: by path, what they hold.

    What others have registered in its folder meanwhile stays registered.
    """
    folder = files.as_path(folder)
    if comparison.out is not None and comparison.out.absolute() == folder.absolute():
        registration.take_up(comparison.registered, registration.read(folder))
    files.write_into(folder, {**(more or {}), **contents(comparison, folder)})
    files.make_executable(folder / store.SCRIPT)


def begin(comparison, products) -> None:
    """Save what there is, before hours of training show that it cannot be saved.

    Page, pictures and event files of other runs than there will be are removed: they would mislead.
    products: what will be there in the end. Raises ArgumentError.
    """
    out, missing = comparison.out, comparison.missing()
    runs = [store.run_path(out, *pair) for pair in missing[:1]]
    try:
        places = [*contents(comparison, out), *products.places(out), *runs]
        files.check_within(out, *places)
        files.check_writable(*places)
        if store.runs_shown(out) not in (None, {*comparison.asked, *comparison.done()}):
            files.check_within(out, *shown(out))
            files.remove(*shown(out))
        save(comparison, out)
    except (OSError, ArgumentError) as error:
        raise ArgumentError(
            f"cannot write into out={str(out)!r}: {error}; give a folder that can be "
            "written to, or one that is not there yet"
        ) from error
