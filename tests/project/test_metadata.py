"""What others read of the project, beside what it declares: hosted tests, how it is cited."""

import re
from configparser import ConfigParser
from pathlib import Path

import minifp as fp

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def declared():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def cited(field):
    return re.search(rf"^{field}: (.*)$", CITATION, re.MULTILINE)[1].strip("[]")


def lowest(requirement):
    return requirement.partition(">=")[2].strip()


def test_hosted_tests_begin_with_the_oldest_python_and_numpy_and_end_with_the_newest():
    options = declared()["options"]
    (numpy,) = re.findall(r"^numpy>=.*$", options["install_requires"], re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    newest = max(map(int, re.findall(r"python3\.(\d+)", makefile)))  # of those that it looks for
    assert re.findall(r'{python: "([\d.]+)", numpy: "(.*?)"}', WORKFLOW) == [
        (lowest(options["python_requires"]), f"numpy=={lowest(numpy)}.*"),
        (f"3.{newest}", "numpy"),
    ]


def test_the_citation_is_of_this_version_and_says_what_the_package_says():
    metadata = declared()["metadata"]
    assert (cited("version"), cited("license")) == (fp.__version__, metadata["license"])
    assert cited("keywords") == metadata["keywords"]
    assert f"name: {metadata['author']}" in CITATION
    assert "https://arxiv.org/abs/1710.03740" in CITATION
