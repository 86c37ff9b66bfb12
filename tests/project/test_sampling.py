"""Claims about which cases of long ranges are run."""

from sampling import drawn_of, is_taken, number_of, seed_of


class Item:
    """A case of a test, as pytest has it."""

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
    draws = [
        drawn_of(seed, node, cases, 4, core, of)
        for seed, node, of in (("a", "t", ""), ("a", "t", ""), ("b", "t", ""), ("a", "u", ""))
    ]
    draws.append(drawn_of("a", "t", cases, 4, core, "float8"))
    assert draws[0] == draws[1] and len({*map(tuple, draws)}) == 4
    assert all(d[:10] == [*core] and 180 < len(d) < 320 for d in draws)
    assert drawn_of(None, "t", cases, 4) == [*cases]


def test_a_seed_draws_the_same_cases_again_and_another_draws_others():
    first, again, other = (
        [i for i in range(1000) if is_taken(Item(i), seed)] for seed in ("a", "a", "b")
    )
    assert first == again != other


def test_a_test_without_the_mark_is_run():
    item = Item(999)
    item.get_closest_marker = lambda name: None
    assert all(is_taken(item, str(seed)) for seed in range(20))


def test_a_number_is_the_same_in_every_process():
    assert number_of("a", "b") == 14440926382800072402


def test_without_git_the_seed_is_that_of_the_sources(tmp_path):
    (tmp_path / "tests").mkdir()
    file = tmp_path / "tests" / "test_a.py"
    seeds = []
    for text in ("a = 1", "a = 1", "a = 2"):
        file.write_text(text, encoding="utf-8")
        seeds.append(seed_of(tmp_path))
    assert seeds[0] == seeds[1] != seeds[2] and len(seeds[0]) == 12
