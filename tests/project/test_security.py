"""SECURITY.md: each promise names a test that is there. MarkupSafe puts HTML together."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from minifp.report import document, in_notebook, markup

ROOT = Path(__file__).parents[2]
TAG = re.compile(
    r"</?(a|b|br|button|code|details|div|fig\w+|g|h[1-6]|header|i|iframe|img|input|label|li|main|nav|ol"
    r"|option|p|path|pre|rect|script|section|select|small|span|strong|style|su[bp]|summary|svg|table"
    r"|tbody|td|text|th|thead|title|tr|tspan|ul)\b"
)
TRUSTED = {  # how often HTML is what is no literal: files of the package, and what is escaped
    "minifp/report/chart_markup.py": 1, "minifp/report/document.py": 4, 
    "minifp/report/drawing.py": 2, "minifp/report/in_notebook.py": 1, "minifp/report/markup.py": 2,
    "minifp/scope/page/explained.py": 1, "scripts/lessons/page.py": 2,
    "scripts/write_handout.py": 1,
}  # fmt: skip


def test_each_promise_names_a_test_that_is_there():
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    promises = [line for line in lines if line.startswith("- ")]
    named = [re.search(r"`(tests/\S+\.py)::(test_\w+)`$", line) for line in promises]
    assert len(promises) > 10 and all(named)
    for file, test in (match.groups() for match in named):
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), test


def put_together(node):
    """The parts of a text that an f-string, + or %, or a method such as `format` puts together."""
    names = {ast.JoinedStr: "values", ast.BinOp: "left right", ast.AugAssign: "value"}
    names[ast.Attribute] = "value"
    parts = [getattr(node, name) for name in names.get(type(node), "").split()]
    return parts[0] if isinstance(node, ast.JoinedStr) else parts


def test_html_is_put_together_by_what_escapes():
    trusted, forgotten = Counter(), []
    for path in (path for room in ("minifp", "scripts") for path in (ROOT / room).rglob("*.py")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "Markup" in text or TAG.search(text) else ():
            texts = [part.value for part in put_together(node) if isinstance(part, ast.Constant)]
            forgotten += [(name, node.lineno, t) for t in texts if TAG.search(str(t))]
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Markup"):
                trusted[name] += not all(isinstance(arg, ast.Constant) for arg in node.args)
    assert not forgotten and +trusted == TRUSTED
    for takes, before in ((markup.data_script, 0), (document.embedded, 0), (document.document, 1)):
        with pytest.raises(TypeError, match="HTML is str '<p>': expected Markup"):
            takes(*[""] * before, "<p>")
    with pytest.raises(TypeError, match="HTML is str '<p>': expected Markup"):
        in_notebook.card("", markup.code(""), "<p>")
