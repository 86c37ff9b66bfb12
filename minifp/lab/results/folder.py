"""The folder of a comparison: begun before training, so that nothing misleading stays in it."""

from minifp.errors import ArgumentError
from minifp.lab.results import store, summary
from minifp.saving import files


def save(comparison, folder) -> None:
    """Write what follows from the runs: results.json and the tables."""
    files.write_all(summary.contents(comparison, files.as_path(folder)))


def begin(comparison, figures=None) -> None:
    """Save what there is, before hours of training show that it cannot be saved.

    Page and pictures of other runs than there will be are removed: they would mislead. figures:
    the format of the pictures that will be there, if any. Raises ArgumentError.
    """
    from minifp.lab.page.figures import places

    out, missing = comparison.out, comparison.missing()
    runs = [store.run_path(out, *pair) for pair in missing[:1]]
    pictures = [] if figures is None else places(out, [figures])
    try:
        written = summary.contents(comparison, out)
        files.check_writable(*written, out / store.REPORT, *pictures, *runs)
        if store.runs_shown(out) not in (None, {*comparison.asked, *comparison.done()}):
            files.remove(out / store.REPORT, *places(out))
        files.write_all(written)
    except (OSError, ArgumentError) as error:
        raise ArgumentError(
            f"cannot write into out={str(out)!r}: {error}; give a folder that can be "
            "written to, or one that is not there yet"
        ) from error
