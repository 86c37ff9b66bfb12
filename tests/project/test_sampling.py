"""Claims about which tests are run, and which cases of long ranges."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from sampling import drawn_of, is_taken, number_of, one_of_each, sample_of, seed_of


class Item:
    def __init__(self, i, one_in=4):
        self.nodeid, self.callspec = f"test[{i}]", self
        self.params, self.args = {"i": i}, (one_in,)
        self.kwargs = {"core": lambda i: i < 10}

    def get_closest_marker(self, name):
        return self


def test_the_core_is_always_run_and_of_the_others_about_one_in_n():
    for seed in "ab":
        taken = [i for i in range(1000) if is_taken(Item(i), seed)]
        assert taken[:10] == [*range(10)] and 180 < len(taken) < 320


def test_inside_a_test_the_core_is_run_and_others_are_drawn_for_each_purpose_and_test():
    cases, core = range(1000), range(10)
    draws = [drawn_of(seed, node, cases, 4, core, "") for seed, node in ("at", "at", "bt", "au")]
    draws.append(drawn_of("a", "t", cases, 4, core, "float8"))
    assert draws[0] == draws[1] and len({*map(tuple, draws)}) == 4
    assert all(d[:10] == [*core] and 180 < len(d) < 320 for d in draws)
    assert drawn_of(None, "t", cases, 4) == [*cases]


def test_a_seed_draws_the_same_cases_again_and_another_draws_others():
    items = range(1000)
    first, again, other = ([i for i in items if is_taken(Item(i), seed)] for seed in "aab")
    assert first == again != other


def test_a_test_without_the_mark_is_run():
    item = Item(999)
    item.get_closest_marker = lambda name: None
    assert all(is_taken(item, str(seed)) for seed in range(20))


def test_a_number_is_the_same_in_every_process():
    assert number_of("a", "b") == 14440926382800072402


def test_without_git_the_seed_is_that_of_the_sources(tmp_path):
    (tmp_path / "tests").mkdir()
    file, seeds = tmp_path / "tests" / "test_a.py", []
    for text in ("a = 1", "a = 1", "a = 2"):
        file.write_text(text, encoding="utf-8")
        seeds.append(seed_of(tmp_path))
    assert seeds[0] == seeds[1] != seeds[2] and len(seeds[0]) == 12


def item_named(name, *marks):
    marks = {mark: SimpleNamespace(name=mark) for mark in marks}
    how = {"get_closest_marker": marks.get, "iter_markers": marks.values}
    return SimpleNamespace(nodeid=name, path=Path(name.partition("::")[0]), **how)


@pytest.mark.parametrize(("names", "taken"), [
    ("tests/ops/test_a.py::test_b[1] tests/ops/test_a.py::test_b[2]", [0]),
    ("tests/ops/test_a.py::test_b tests/ops/test_a.py::test_c", [0, 1]),
    ("tests/lab/test_a.py::test_b tests/lab/test_a.py::test_c tests/lab/test_d.py::test_e", [0, 2]),
    ("tests/project/test_readme.py::test_b[1] tests/project/test_readme.py::test_b[2]", [0, 1]),
    (" ".join(f"tests/ops/test_a.py::test_b[{n}]" for n in range(40)), [0, 16, 32]),
])  # fmt: skip
def test_plain_pytest_takes_one_of_each_kind_and_all_of_the_readme(names, taken):
    items = [item_named(name) for name in names.split()]
    assert one_of_each(items) == [items[n] for n in taken]


def test_plain_pytest_takes_nothing_that_takes_long():
    names = ("slow", "site", "packaging")
    assert one_of_each([item_named(f"tests/ops/test_a.py::test_b[{m}]", m) for m in names]) == []


def test_a_nightly_test_is_run_where_its_file_is_named_or_its_mark():
    folder, file = Path("tests/ops"), Path("tests/ops/test_a.py")
    items = [
        item_named(f"{file.as_posix()}::test_b", "nightly"),
        item_named(f"{file.as_posix()}::c"),
    ]
    assert sample_of(items, "seed", {folder}, False) == items[1:]
    for where, asked in ((file, False), (folder, True)):
        assert sample_of(items, "seed", {where}, asked) == items
