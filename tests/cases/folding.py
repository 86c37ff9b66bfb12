"""Windows as columns, and back."""

from hypothesis import strategies as st

from cases.case import drawn, functional

CASES = [
    functional("unfold", lambda f, x: f.unfold(x, 2), (2, 3, 4, 3)),
    functional("unfold strided", lambda f, x: f.unfold(x, (2, 3), 2, (1, 2), (2, 1)), (1, 2, 5, 4)),
    functional("unfold one", lambda f, x: f.unfold(x, 3, 1, 1), (2, 3, 3)),
    functional("fold", lambda f, x: f.fold(x, (4, 3), 2), (2, 8, 6)),
    functional("fold padded", lambda f, x: f.fold(x, 4, (3, 2), 1, 1, (2, 1)), (6, 10)),
]


@drawn("unfold", "fold")
def draw_windows(draw, name):
    pair = st.tuples(*[st.integers(1, 3)] * 2)
    settings = {"kernel_size": draw(pair), "dilation": draw(pair), "stride": draw(pair)}
    settings["padding"] = draw(st.tuples(*[st.integers(0, 2)] * 2))
    reach = [d * (k - 1) + 1 for k, d in zip(settings["kernel_size"], settings["dilation"])]
    least = [max(r - 2 * p, 1) for r, p in zip(reach, settings["padding"])]
    size = [n + draw(st.integers(0, 3)) for n in least]
    steps = zip(size, settings["padding"], reach, settings["stride"])
    counts = [(n + 2 * p - r) // s + 1 for n, p, r, s in steps]
    lead, channels = draw(st.sampled_from([(), (1,), (2,)])), draw(st.integers(1, 2))
    if draw(st.booleans()):  # an integer stands for a pair of it
        settings = {k: v[0] if v[0] == v[1] else v for k, v in settings.items()}
    if name == "unfold":
        return functional(name, lambda f, x: f.unfold(x, **settings), (*lead, channels, *size))
    columns = (*lead, channels * settings_area(settings), counts[0] * counts[1])
    return functional(name, lambda f, x: f.fold(x, tuple(size), **settings), columns)


def settings_area(settings):
    size = settings["kernel_size"]
    return size * size if isinstance(size, int) else size[0] * size[1]


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Unfold": (lambda m: m.Unfold((2, 3), 2, (1, 2), (2, 1)), (1, 2, 5, 4)),
    "Fold": (lambda m: m.Fold((4, 3), 2), (2, 8, 6)),
}
