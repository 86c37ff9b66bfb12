"""The playground: minifp trains in a page, stops, and goes on. `make site-test`: web/README.md."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from in_playground import built, is_ready, playground, run, write, written
from test_explorables import Handler, served

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = "import time\nprint('begun')\nwhile True:\n    time.sleep(0.01)\n"
ENDLESS_IN_C = "print('begun')\nsum(iter(int, 1))\n"

pytestmark = [pytest.mark.nightly, pytest.mark.slow]
in_site = pytest.mark.site  # all but one, which `make test` runs too


def points(page):
    lines = page.locator("#curves svg")
    drawn = [lines.nth(n).locator("polyline") for n in range(lines.count())]
    return [sum(len(p.get_attribute("points").split()) for p in d.all()) for d in drawn]


@in_site
def test_the_lock_lists_every_file_with_its_hash(site):
    lock = json.loads((site / "lock.json").read_text(encoding="utf-8"))
    paths = {p.relative_to(site).as_posix(): p for p in site.rglob("*") if p.is_file()}
    paths.pop("lock.json")
    assert lock["files"].keys() == paths.keys()
    for name, path in paths.items():
        content = path.read_bytes()
        hashed = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        assert lock["files"][name] == hashed
    assert lock["packages"].keys() == {*"minifp numpy click markupsafe platformdirs tqdm".split()}
    for package in lock["packages"].values():
        told = lock["files"][f"wheels/{package['file_name']}"]
        assert told.items() <= package.items() and {*package["depends"]} <= {*lock["packages"]}
    stated = float(re.search(r"([\d.]+) MB", (site / "index.html").read_text("utf-8"))[1])
    played = [f["bytes"] for n, f in lock["files"].items()
              if n.startswith(("pyodide/", "wheels/", "playground/"))]  # fmt: skip
    assert stated == round(sum(played) / 1e6, 1)


@in_site
def test_a_changed_pyodide_and_a_folder_of_something_else_are_refused(folders, tmp_path):
    other = tmp_path / "pyodide"
    other.mkdir()
    for path in Path(folders[1]).iterdir():
        (other / path.name).symlink_to(path)
    (other / "pyodide.mjs").unlink()
    (other / "pyodide.mjs").write_text("export const loadPyodide = 1;\n", encoding="utf-8")
    done = built(tmp_path / "site", "--pyodide", other, *folders[2:])
    assert done.returncode and "another file than that of pyodide@" in done.stderr
    (other / "pyodide.mjs").unlink()
    done = built(tmp_path / "site", "--pyodide", other, *folders[2:])
    assert done.returncode and "pyodide.mjs is missing" in done.stderr
    done = built(other, *folders)
    assert done.returncode and "holds something else than a site" in done.stderr
    assert [*tmp_path.iterdir()] == [other]


@in_site
def test_a_package_with_another_hash_is_refused_by_the_page(browser, site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    (wheel,) = (tmp_path / "site" / "wheels").glob("tqdm-*")
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    with served(tmp_path / "site") as address, playground(browser, address) as page:
        page.locator("#status", has_text="tqdm did not arrive").wait_for(timeout=60_000)
        assert "Python could not be loaded" in page.inner_text("#status")
        page.said.clear()


def test_a_mixed_lenet_trains_in_the_page(browser, address):
    start = time.perf_counter()
    with playground(browser, address) as page:
        is_ready(page, "Ready")
        loaded, clicked = time.perf_counter() - start, time.perf_counter()
        page.click("#run")
        page.locator("#curves polyline").first.wait_for(state="attached", timeout=60_000)
        first = time.perf_counter() - clicked
        page.locator("#output", has_text=re.compile(r": 9[5-9]\.\d%")).wait_for(timeout=120_000)
        print(f"\nready after {loaded:.1f} s; from click to the first step {first:.1f} s, "
              f"to 95% {time.perf_counter() - clicked:.1f} s")  # fmt: skip
        is_ready(page, "Done after")
        assert points(page) == [230, 230]
        label = page.locator("#curves svg").nth(1).get_attribute("aria-label")
        assert "2¹⁶ at the first of 230 steps" in label


@in_site
def test_a_challenge_is_judged_and_marked_and_the_next_one_offered(page):
    page.select_option("#examples", "find_scale")
    assert "Find a constant S" in page.inner_text("#question")
    program = written(page)
    run(page, program)
    assert "too many gradients become 0" in page.inner_text("#question")
    run(page, program.replace("S = 1.0", "S = 2.0**16"))
    assert "Passed" in page.inner_text("#question")
    assert page.locator("#examples option:checked").inner_text() == "✓ Find S"
    page.click("#question button")
    assert page.evaluate("location.search") == "?try=right_wall"


@in_site
def test_skipped_steps_are_marked_and_a_bypassed_loss_is_no_number(page):
    program = (
        "import minifp as fp\n"
        "w = fp.zeros(3, dtype=fp.float16, requires_grad=True)\n"
        "with fp.precision('mixed'):\n"
        "    optimizer = fp.MixedOptimizer(fp.optim.SGD([w], lr=1.0), loss_scale=2.0**10)\n"
        "    for factor in 1.0, 3e4, 1.0:\n"
        "        result = optimizer.minimize((w.float() * factor).sum())\n"
        "    w.float().sum().backward()\n"
        "    optimizer.step()\n"
        "    print(result.stepped)"
    )
    assert run(page, program).endswith("True\n")
    assert points(page) == [3, 4]
    assert page.locator("#curves path").count() == 2  # one in each picture


@in_site
def test_results_are_shown_as_a_notebook_shows_them(page):
    for example, texts in (("explain", ["0.0999755859375", "0.0004"]), ("tensor", ["1000"])):
        page.select_option("#examples", example)
        page.click("#run")
        is_ready(page, "Done")
        shown = [frame.content_frame.locator("body").inner_text()
                 for frame in page.locator("#output iframe").all()]  # fmt: skip
        assert [text in one for text, one in zip(texts, shown)] == [True] * len(shown)


@in_site
def test_no_script_runs_in_a_result(page):
    program = (
        "class Page:\n"
        "    def _repr_html_(self):\n"
        "        script = 'parent.document.title = 1'\n"
        "        return f'<script>{script}</script><b onclick=\"{script}\">bold</b>'\n"
        "Page()"
    )
    run(page, program)
    page.locator("#output iframe").content_frame.locator("b").click()
    assert page.title() == "minifp's playground"
    assert all("sandboxed" in text or "Content Security Policy" in text for text in page.said)
    assert page.said
    page.said.clear()


@in_site
def test_an_error_is_told_from_the_programs_own_lines_on(page):
    said = run(page, "def f():\n    return 1 / 0\nf()", "failed")
    assert said.splitlines()[1] == '  File "program.py", line 3, in <module>'
    assert "return 1 / 0" in said and said.splitlines()[-1].startswith("ZeroDivisionError")
    assert run(page, "import sys\nprint('a', end='\\rb\\n')\nsys.exit('no')", "failed") == "b\nno\n"


@in_site
def test_a_data_set_that_would_be_downloaded_is_refused(page):
    said = run(page, "import minifp as fp\nfp.data.mnist()", "failed")
    assert "a web page cannot download it: fp.data.digits() is bundled" in said


@in_site
def test_nothing_is_fetched_from_elsewhere_even_if_a_program_asks(page, tmp_path, monkeypatch):
    (tmp_path / "open.txt").write_text("for pages of any origin", encoding="utf-8")
    asked = []
    monkeypatch.setattr(Handler, "log_request", lambda self, *_: asked.append(self.path))
    with served(tmp_path) as elsewhere:
        program = (
            "import js\n"
            "request = js.XMLHttpRequest.new()\n"
            f"request.open('GET', '{elsewhere}/open.txt', False)\n"
            "request.send()\n"
            "print(request.responseText)"
        )
        assert "NetworkError" in run(page, program, "failed")
        assert "/open.txt" not in asked  # the browser did not even ask
        assert urlopen(f"{elsewhere}/open.txt").read() and "/open.txt" in asked
    page.said.clear()


@in_site
def test_a_program_travels_in_the_address(browser, address, page):
    program = "print('größer, \u2265 1')\n" * 3
    write(page, program)
    page.click("#share")
    page.locator("#status", has_text="The address of this page holds the program").wait_for()
    with playground(browser, address, page.evaluate("location.hash")) as other:
        other.locator("#run").wait_for()
        other.wait_for_timeout(300)
        assert written(other) == program
    with playground(browser, address, "#program=nothing") as other:
        other.locator("#output", has_text="cannot be read").wait_for()
        assert "import minifp" in written(other)


@in_site
def test_keys_indent_and_leave(page):
    write(page, "for i in range(3):")
    page.focus("#program")
    page.keyboard.press("End")
    for key in ("Enter", "p", "Enter", "Shift+Tab", "Tab", "q"):
        page.keyboard.press(key)
    assert written(page) == "for i in range(3):\n    p\n    q"
    page.keyboard.press("Control+z")
    assert written(page) != "for i in range(3):\n    p\n    q"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "program"
    write(page, "print(6 * 7)")
    page.keyboard.press("Control+Enter")
    is_ready(page, "Done")
    assert page.inner_text("#output") == "42\n"


@in_site
def test_without_codemirror_there_is_a_text_area(browser, site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    shutil.copy(ROOT / "web" / "playground" / "codemirror.js", tmp_path / "site" / "playground")
    with served(tmp_path / "site") as address, playground(browser, address) as page:
        is_ready(page)
        assert page.evaluate("document.getElementById('program').localName") == "textarea"
        test_keys_indent_and_leave(page)


def test_a_site_is_built_where_its_folder_is_named_from_here(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.chdir(tmp_path)
    import build_site  # what it calls works in folders of its own

    named = ["--pyodide", ".", "--wheels", ".", "--out", "site"]
    places = build_site.main.make_context("site", named).params
    assert all(places[name].is_absolute() for name in ("source", "folder", "out"))


def test_wheels_come_with_what_they_need_and_are_held_to_their_hashes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from website import pyodide

    monkeypatch.setattr(pyodide, "user_cache_path", lambda name: tmp_path / "cache")
    known = {name: {"depends": needs, "file_name": name, "sha256": hashlib.sha256(b"").hexdigest()}
             for name, needs in {"a": ["b"], "b": ["a"], "c": []}.items()}  # fmt: skip
    (tmp_path / pyodide.LOCK).write_text(json.dumps({"packages": known}), encoding="utf-8")
    for name, content in {"a": b"", "b": b"", "c": b"another"}.items():
        (tmp_path / name).write_bytes(content)
    with served(tmp_path) as address:
        monkeypatch.setattr(pyodide, "ADDRESS", f"{address}/")
        assert {path.name for path in pyodide.packages(["a"], tmp_path).iterdir()} == {"a", "b"}
        with pytest.raises(pyodide.click.ClickException, match="/c cannot be used: .*--wheels DIR"):
            pyodide.packages(["c"], tmp_path)


def test_without_npm_a_build_says_why_there_is_a_text_area(tmp_path):
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from website import editor\n"
        "print(editor.bundled(pathlib.Path(sys.argv[2])))"
    )
    (tmp_path / "page").mkdir()
    nothing = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, str(ROOT / "scripts"), str(tmp_path / "page")]
    said = subprocess.run(command, env=nothing, capture_output=True, encoding="utf-8").stdout
    assert said == "npm is not installed: expected Node.js, which has it\n"
    assert not [*(tmp_path / "page").iterdir()]


def stopped(page, program):
    write(page, program)
    page.click("#run")
    page.locator("#output", has_text="begun").wait_for()
    start = time.perf_counter()
    page.click("#stop")
    is_ready(page, "Stopped")
    return time.perf_counter() - start


@in_site
def test_stop_begins_anew_where_the_page_is_not_isolated(browser, address):
    with playground(browser, address) as page:  # no service worker is there at a first visit
        is_ready(page)
        assert not page.evaluate("crossOriginIsolated")
        print(f"\nanother worker {stopped(page, ENDLESS_IN_C):.1f} s")
        assert "begun anew" in page.inner_text("#status")
        assert page.inner_text("#output") == "begun\n"
        assert run(page, "print(1)") == "1\n"


@in_site
def test_once_loaded_it_is_isolated_and_needs_no_network(browser, site):
    with served(site) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/playground/")
        is_ready(page)
        files = json.loads((site / "lock.json").read_text("utf-8"))["files"]
        count = sum(not name.startswith("jupyter/") for name in files) + 1
        kept = "caches.open('minifp-site').then((c) => c.keys()).then((k) => k.length)"
        while page.evaluate(kept) < count:
            page.wait_for_timeout(200)
    page.reload()  # the server is gone
    is_ready(page, "Ready")
    assert page.evaluate("crossOriginIsolated")
    print(f"\ninterrupted {stopped(page, ENDLESS):.2f} s")
    assert "begun anew" not in page.inner_text("#status")
    assert stopped(page, ENDLESS_IN_C) > 3 and "begun anew" in page.inner_text("#status")
    assert run(page, "import minifp as fp\nprint(float(fp.tensor([2.0]).sum()))") == "2.0\n"
    context.close()
