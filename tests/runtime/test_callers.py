"""Where a program called minifp is told as its reader would find it."""

import linecache
import sys
from types import SimpleNamespace

import pytest
from own_process import python

from minifp.runtime.callers import line_at, line_of_user

CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("from minifp.runtime.callers import line_of_user", store_history=True)
shell.run_cell("1 + 1\\nprint(line_of_user())", store_history=True)
"""


def test_a_line_is_told_with_its_text_in_a_notebook_by_the_number_of_its_cell():
    here = line_of_user()
    number = int(here.split(":")[-2])
    assert here == f"{__file__}:{number}: here = line_of_user()"
    assert linecache.getline(__file__, number).strip() == "here = line_of_user()"
    assert line_at("<string>", 3) == "<string>:3"  # a program that is no file
    pytest.importorskip("IPython")
    assert python(CELLS).stdout.splitlines()[-1] == "In[2]:2: print(line_of_user())"


def test_an_older_shell_that_does_not_name_its_cells_keeps_no_error_from_being_told(monkeypatch):
    for shell in (None, SimpleNamespace(compile=SimpleNamespace())):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # noqa: B023
        assert line_at("/tmp/ipykernel_1/2.py", 3) == "/tmp/ipykernel_1/2.py:3"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())  # which is just being imported
    assert line_at("/tmp/ipykernel_1/2.py", 3) == "/tmp/ipykernel_1/2.py:3"
