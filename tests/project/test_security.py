"""SECURITY.md: each promise names a test that is there. MarkupSafe puts HTML together."""

import ast
import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from refusals import refuses

from minifp.report import document, in_notebook, markup

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"</[a-z]|(?<!\w)<(?!size)[a-z]+[1-6]?( [\w-]+=|/?>)|<[a-z]{3,}$")
# How often HTML is what is no literal: files of the package, and what is escaped.
TRUSTED = {"minifp/report": 11, "scripts/lessons": 2, "scripts": 1}


def test_each_promise_names_a_test_that_is_there():
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    promises = [line for line in lines if line.startswith("- ")]
    named = [re.search(r"`(tests/\S+\.py)::(test_\w+)`$", line) for line in promises]
    assert len(promises) > 10 and all(named)
    for file, test in (match.groups() for match in named):
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_html_is_put_together_by_what_escapes():
    """No f-string, + or %, and no method of a str such as `format`, has a tag in it."""
    parts = {ast.JoinedStr: "values", ast.BinOp: "left right", ast.AugAssign: "value"}
    parts[ast.Attribute], trusted, forgotten = "value", Counter(), []
    for path in (path for room in ("minifp", "scripts") for path in (ROOT / room).rglob("*.py")):
        text, folder = path.read_text(encoding="utf-8"), path.parent.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(text)) if "Markup" in text or TAG.search(text) else ():
            found = np.ravel([getattr(node, n) for n in parts.get(type(node), "").split()])
            texts = [str(part.value) for part in found if isinstance(part, ast.Constant)]
            forgotten += [(path, node.lineno) for text in texts if TAG.search(text)]
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Markup"):
                trusted[folder] += not all(isinstance(arg, ast.Constant) for arg in node.args)
    assert not forgotten and +trusted == TRUSTED
    page, card = partial(document.document, ""), partial(in_notebook.card, "", markup.code(""))
    for takes in (page, card, document.embedded, markup.data_script):
        refuses(TypeError, "HTML is str '<p>': expected Markup", takes, "<p>")
