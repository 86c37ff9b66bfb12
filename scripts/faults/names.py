"""By which names the tests of a source are known: of its kernels, operations and classes."""

import ast
import re

SUFFIX = re.compile(r"_(numba|cuda|text|ir)$|_plan_numba$|_rows_numba$")
PARTS = re.compile(r"_(forward|backward|dx|dy|dw|db|da|dz|op)$")
COMMON = {*"forward backward step update __init__ call run main read write".split()}
KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\(\w+\)\s*)?(\w+)")
MOST, MOST_FILES = 12, 4
TRAVERSES = re.compile(r"import (CASES|CALLS|KERNELS)\b|import .*\b(CASES|CALLS|KERNELS)\b")


def stem_of(file):
    """A file's name without what says how it is compiled."""
    return SUFFIX.sub("", file.rpartition("/")[2].rpartition(".")[0])


def names_of(root, mutant):
    """(names, stems), the nearest first: of the function, of what is public beside it, and of the
    files that import it."""
    path = root / mutant.file
    stem = stem_of(mutant.file)
    names = [mutant.inside, PARTS.sub("", mutant.inside)]
    family = [p for p in path.parent.iterdir() if stem_of(p.name) == stem and p.is_file()]
    for other in sorted(family):
        names += public_names(other)
    stems = [stem, *importers(root, path)]
    kind = path.parent.name
    names = [n for n in dict.fromkeys([*names, *stems]) if len(n) > 2 and n not in COMMON]
    return names[: 2 * MOST], [*stems, kind, f"compiled_{kind}"]


def public_names(path):
    """What a file defines for others: kernels, functions with @public, classes."""
    text = path.read_text(encoding="utf-8") if path.suffix in (".py", ".cu", ".cuh") else ""
    if path.suffix != ".py":
        return KERNEL.findall(text)
    names = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.FunctionDef):
            marks = " ".join(ast.unparse(mark) for mark in node.decorator_list)
            if "public" in marks:
                names.append(node.name)
    return names


def importers(root, path):
    """The stems of files that import a Python file, where these are few."""
    if path.suffix != ".py":
        return []
    dotted = ".".join(path.relative_to(root).with_suffix("").parts)
    folder, _, module = dotted.rpartition(".")
    whole, folder = re.escape(dotted), re.escape(folder)
    says = re.compile(rf"from {whole} import|from {folder} import .*\b{module}\b")
    stems = [
        stem_of(other.name)
        for other in sorted((root / "minifp").rglob("*.py"))
        if other != path and says.search(other.read_text(encoding="utf-8"))
    ]
    stems = [*dict.fromkeys(stems)]
    return stems if len(stems) <= MOST else []


def nearest_files(root, folders, names, stems):
    """Files of tests that say some of the names, or go through all operations or kernels."""
    words = [re.compile(rf"(?<![a-z]){re.escape(name)}(?![a-z])") for name in names]
    scores = {}
    for path in (p for folder in folders for p in sorted((root / folder).glob("test_*.py"))):
        text = path.read_text(encoding="utf-8")
        score = sum(bool(word.search(text)) for word in words)
        score += 3 * any(path.stem.startswith(f"test_{stem}") for stem in stems)
        score += 5 * bool(TRAVERSES.search(text))
        scores[path.relative_to(root).as_posix()] = score
    best = sorted(filter(scores.get, scores), key=scores.get, reverse=True)
    return best[:MOST_FILES]


def lines_beside(text, line):
    """The lines of the statement that a line is in; of one with a body, those before the body."""
    inner = range(line, line + 1)
    for node in ast.walk(ast.parse(text)):  # from the outermost to the innermost
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            body = getattr(node, "body", None)
            inner = range(node.lineno, body[0].lineno if body else node.end_lineno + 1)
    return inner if line in inner else range(line, line + 1)
