"""What people really write: each program under tests/compat/idioms/ does what its writer believes.

Comments declare what minifp tells them, all of it, with a part of the text:

    # warns: MisuseWarning: optimizer.backward(loss)
    # raises: ShapeError: hidden.0
"""

import re
import runpy
import warnings
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "idioms").glob("*.py"))
DECLARED = re.compile(r"^# (warns|raises): (\w+): (.+)$", re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_does_what_its_writer_believes(program, monkeypatch, tmp_path):
    """It runs through, or ends in what it declares; it is told what it declares, and no more."""
    declared = DECLARED.findall(program.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", EncodingWarning)
        try:
            runpy.run_path(str(program), run_name="__main__")
        except Exception as error:
            if not any(way == "raises" for way, *_ in declared):
                raise
            told.append(("raises", type(error).__name__, str(error)))
    told += [("warns", w.category.__name__, str(w.message)) for w in caught]
    assert [entry[:2] for entry in sorted(told)] == [entry[:2] for entry in sorted(declared)], told
    for way, kind, part in declared:
        texts = [text for w, k, text in told if (w, k) == (way, kind)]
        assert any(part in text for text in texts), f"{kind} without {part!r}: {texts}"
