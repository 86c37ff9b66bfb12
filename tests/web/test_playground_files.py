"""Files that programs write in the playground: kept, listed, downloaded, deleted."""

import re
from pathlib import Path

import pytest
from in_playground import is_ready, playground, run, write

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.site]

WRITES_AND_STAYS = "open('kept.txt', 'w').write('x' * 2000)\nprint('begun')\nsum(iter(int, 1))\n"
LISTS = "import os\nprint(sorted(os.listdir('.')))"


def listed(page):
    page.wait_for_timeout(200)
    rows = page.locator("#files tbody tr").all()
    return dict(row.locator("td").all_inner_texts()[:2] for row in rows)


def test_files_survive_a_reload_and_a_program_that_is_stopped(browser, address):
    with playground(browser, address) as page:
        is_ready(page)
        run(page, "open('log.csv', 'w').write('a,b')\nimport os\nos.makedirs('d', exist_ok=True)\n"
                  "open('aside', 'w').write('<p>')\nos.replace('aside', 'd/page.html')\n"
                  "open('gone', 'w').close()\nos.remove('gone')")  # fmt: skip
        assert listed(page) == {"d/page.html": "3 bytes", "log.csv": "3 bytes"}
        write(page, WRITES_AND_STAYS)
        page.click("#run")
        page.locator("#output", has_text="begun").wait_for()
        page.click("#stop")
        page.wait_for_timeout(100)
        is_ready(page, "begun anew")
        assert run(page, LISTS) == "['d', 'kept.txt', 'log.csv']\n"
        page.reload()
        is_ready(page)
        sizes = {"d/page.html": "3 bytes", "kept.txt": "2.0 kB", "log.csv": "3 bytes"}
        assert listed(page) == sizes
        with page.expect_download() as download:
            page.get_by_label("Download d/page.html").click()
        assert download.value.suggested_filename == "page.html"
        assert Path(download.value.path()).read_text(encoding="utf-8") == "<p>"
        page.get_by_label("Delete kept.txt").click()
        assert run(page, LISTS) == "['d', 'log.csv']\n"
        page.reload()
        is_ready(page)
        assert {*listed(page)} == {"d/page.html", "log.csv"}


def test_a_checkpoint_and_a_page_of_minifps_own_are_listed(browser, address):
    with playground(browser, address) as page:
        is_ready(page)
        program = (
            "import minifp as fp\n"
            "model = fp.nn.Linear(2, 2)\n"
            "optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))\n"
            "fp.save('run.safetensors', model, optimizer)\n"
            "with fp.microscope(model, optimizer) as scope:\n"
            "    optimizer.minimize(model(fp.ones(1, 2)).float().sum())\n"
            "scope.report('scope.html')"
        )
        run(page, program)
        assert {*listed(page)} == {"run.safetensors", "scope.html"}  # and nothing that lay aside


def test_storage_that_is_refused_is_told(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("indexedDB.open = () => { throw new Error('refused here'); };")
    page.goto(f"{address}/playground/")
    is_ready(page)
    run(page, "open('a', 'w').write('1')\nopen('b', 'w').write('2')")
    assert {*listed(page)} == {"a", "b"}
    said = page.inner_text("#files")
    assert len(re.findall("refused here", said)) == 1 and "does not keep" in said
    context.close()
