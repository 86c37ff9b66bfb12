"""The same of texts in CUDA C++, by their tokens: files, and strings of Python sources."""

import ast
import re

from faults.sites import Site

FUNCTION = re.compile(r"(?:__global__|__device__)[^;{(]*?\b(\w+)\s*\((?!\w+\)\s*\w+\s*\()")
COMMENT = re.compile(r"//.*|/\*.*?\*/|\"[^\"]*\"")
# What may be inside of brackets that are in no others.
INNER = r"[^()\n]*(?:\([^()\n]*\)[^()\n]*)*"
NAME = r"[A-Za-z_]\w*"
ROUNDED = r"__half2float(__float2half_rn(\g<{}>))"
RULES = [
    ("bound", r"(?<= )<(?= )", "<="),
    ("bound", r"(?<= )<=(?= )", "<"),
    ("bound", r"(?<= )>(?= )", ">="),
    ("bound", r"(?<= )>=(?= )", ">"),
    ("bound", r"\bmin(?=\()", "max"),
    ("term", r"(?<= )\+(?= )", "-"),
    ("term", r" \+ (?:[A-Za-z_][\w.]*|\d[\w.]*)(?=[;,)\]])", ""),
    ("term", r"(?<=[\w)\]]) \* [A-Za-z_][\w.]*(?=[;,)])", ""),
    ("stride", r"(?<=\[)[^\[\]]+(?=\])", r"\g<0> + 1"),
    ("stride", r"\) \* [A-Za-z_]\w*(?= \+)", ")"),
    ("stride", r"(?<=take_digit\()(\w+), (\w+)", r"\g<1>, \g<2> + 1"),
    ("stride", rf"(?<=load\()({NAME}), (?=\w)", r"\g<1>, 1 + "),
    ("barrier", r"__sync(?:threads|warp)\(\);", ""),
    ("barrier", r"0xffffffffu", "0x0000ffffu"),
    ("barrier", r"(?<=, )16(?=; o)", "8"),
    ("tail", r"\((\w+) \+ (\w+) - 1\) / \2", r"\g<1> / \g<2>"),
    ("tail", r"(?<=\+= )(?:all_threads\(\)|gridDim\.x)", "(1ll << 40)"),
    ("tail", r"(?<=% )\w+", "1"),
    ("swap", r"(?<=\? )([\w.\[\]]+) : ([\w.\[\]]+)", r"\g<2> : \g<1>"),
    ("format", rf"(?<=float )({NAME}) = ({INNER});", rf"\g<1> = {ROUNDED.format(2)};"),
    ("format", r"\bdouble\b", "float"),
    ("format", rf"rounded<\w+>\(({INNER})\)", r"(\g<1>)"),
    ("sign", rf"(?<=store\()({NAME}, [^,()\n]+), ({INNER})\);", r"\g<1>, -(\g<2>));"),
    ("sign", r"(?<= )-(?= )", "+"),
    ("sign", r"(?<= )\+=(?= )(?! \d)", "-="),
    ("sign", r"(?<=[(=?:,] )-(?=[\w(])", ""),
]  # fmt: skip
RULES = [(operator, re.compile(old), new) for operator, old, new in RULES]


def sites_of(text, first=1, column=0):
    """All sites of a text that begins in line `first`, its first line at a column."""
    sites, inside = [], ""
    for number, line in enumerate(text.splitlines(), first):
        start = FUNCTION.search(re.sub(r"__launch_bounds__\(\w+\)", "", line))
        inside = start[1] if start else inside
        code = COMMENT.sub(lambda match: "\x00" * len(match[0]), line)
        if code.lstrip().startswith(("#", "template")) or not line.isascii():
            continue
        shift = column if number == first else 0
        for operator, old, new in RULES:
            for match in old.finditer(code):
                place = shift + match.start(), shift + match.end()
                sites.append(Site(number, *place, operator, match.expand(new), inside))
    return sorted(set(sites))


def sites_in_strings(text):
    """Those of the CUDA texts that a Python source has as strings."""
    sites, tree = [], ast.parse(text)
    documents = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    }
    lines = text.splitlines()
    for node in ast.walk(tree):  # of these the parts have no places of their own before Python 3.12
        documents |= set(node.values) if isinstance(node, ast.JoinedStr) else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ";" in node.value:
            if node not in documents and re.search(r"\b(float|size|int|for|return)\b", node.value):
                several = node.end_lineno > node.lineno
                start = node.col_offset + (3 if several else 1)
                own = lines[node.lineno - 1 : node.end_lineno]
                own[-1] = own[-1][: node.end_col_offset - (3 if several else 1)]
                own[0] = own[0][start:]
                sites += sites_of("\n".join(own), node.lineno, start)
    return [site for site in sites if "{" not in site.new or "{" in lines[site.line - 1]]
