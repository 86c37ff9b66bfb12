"""Draw the README's first picture: the gradients of a real training step, and what the loss scale
does to them in float16.

    python scripts/draw_front.py                # trains some seconds, writes the counts and draws
    python scripts/draw_front.py --drawn-only   # from the counts that are there

An LSTM of 256 units learns Shakespeare's characters in float32. At its 41st step the gradients of
all activations are counted by their exponents: scripts/results/front.json. Nothing was arranged.
docs/front.svg moves on its own by CSS, and has the colours that its reader's system prefers.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from markupsafe import Markup
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
COUNTS, PICTURE = ROOT / "scripts" / "results" / "front.json", ROOT / "docs" / "front.svg"
STEPS, UNITS, LENGTH, BATCH = 41, 256, 64, 32
SCALES = range(29)  # log2 of S
STOPS = {0: 8, 12: 8, 28: 8}  # frames for which it rests there; else one
FRAME = 0.25  # seconds
FIRST, LAST = -46, 18  # exponents in the picture
WIDTH, EDGE, BASE, HEIGHT = 11, 58, 214, 130  # of a power of two; where it begins; of the bars
SMALLEST, NORMAL, OVER = -25, -14, 16  # exponents: below, 0; from, all 11 bits; from, Inf


def counted():
    """{exponent: how many gradients of activations are in [2^e, 2^(e+1))}, at the last step."""
    import minifp as fp
    import minifp.nn.functional as F
    from minifp import optim
    from minifp.models import CharLSTM
    from minifp.scope.observed import ACTIVATION_GRADIENTS

    fp.manual_seed(0)
    train, _ = fp.data.shakespeare(length=LENGTH)
    loader = fp.data.DataLoader(train, batch_size=BATCH, shuffle=True)
    model = CharLSTM(65, hidden=UNITS)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=3e-3))
    with fp.microscope(model, optimizer, every=STEPS - 1) as scope:
        for _, (x, t) in zip(tqdm(range(STEPS), unit="step"), loader):
            optimizer.minimize(F.cross_entropy(model(x), t))
    counts = Counter()
    for histogram in scope.steps[-1].histograms[ACTIVATION_GRADIENTS].values():
        counts.update(histogram.exponents)
    return dict(sorted(counts.items()))


def shares(counts, scale):
    """(those that become 0, those that become Inf) where all are multiplied by 2^scale."""
    total = sum(counts.values())
    small = sum(n for e, n in counts.items() if e + scale < SMALLEST)
    large = sum(n for e, n in counts.items() if e + scale >= OVER)
    return small / total, large / total


def place(exponent):
    """Where a power of two is, in pixels."""
    return EDGE + WIDTH * (exponent - FIRST)


def percent(share):
    """12%, 0.3%, or fewer digits where there is nothing."""
    return f"{100 * share:.{0 if share > 0.0995 or share == 0 else 1}f}%"


def moments():
    """[(log2 of S, where its frames begin, where they end)], as shares of the whole."""
    ends, at = [], 0
    for scale in SCALES:
        ends.append((scale, at, at := at + STOPS.get(scale, 1)))
    return [(scale, begin / at, end / at) for scale, begin, end in ends], at * FRAME


def keyframes(name, values):
    """A CSS animation that holds each of (share of the time, declarations)."""
    inside = "".join(f"{100 * at:.3f}%{{{text}}}" for at, text in values)
    return f"@keyframes {name}{{{inside}}}"


def drawn(counts):
    """The picture, as SVG."""
    times, seconds = moments()
    top = max(counts.values())
    slide = [(begin, f"transform:translateX({WIDTH * k}px)") for k, begin, _ in times]
    knob, per = 8 * WIDTH, 16  # where the slider begins; pixels for a power of two
    css = [
        ":root{--ink:#1f2328;--pale:#59636e;--page:#fff;--bar:#0969da;--lost:#cf222e;--half:#ddf4ff;"
        "--whole:#b6e3ff}",
        "@media(prefers-color-scheme:dark){:root{--ink:#f0f6fc;--pale:#9198a1;--page:#0d1117;"
        "--bar:#4493f8;--lost:#f85149;--half:#0c2d4a;--whole:#13406b}}",
        "text{font:14px system-ui,sans-serif;fill:var(--ink)}",
        ".pale{fill:var(--pale);font-size:12px}",
        ".large{font-size:17px;font-weight:600}.lost{fill:var(--lost)}",
        f".slide{{animation:slide {seconds}s step-end infinite}}",
        keyframes("slide", slide),
        f".knob{{animation:knob {seconds}s step-end infinite}}",
        keyframes("knob", [(b, f"transform:translateX({per * k}px)") for k, b, _ in times]),
        f".frame{{opacity:0;animation:{seconds}s step-end infinite}}",
        "@media(prefers-reduced-motion:reduce){*{animation:none!important}#f0{opacity:1}}",
    ]
    words = []
    for k, begin, end in times:
        small, large = shares(counts, k)
        told = Markup('<tspan class="{}">{} become 0</tspan>').format(
            "lost" if small else "", percent(small)
        )
        if large:
            told += Markup('<tspan class="lost"> · some become Inf: the step is skipped</tspan>')
        frame = Markup(
            '<g id="f{}" class="frame"><text class="large" x="{}" y="34">S = {:,}</text>'
            '<text class="large" x="{}" y="34">{}</text></g>'
        )
        words.append(frame.format(k, EDGE, 2**k, EDGE + 190, told))
        visible = [(0, "opacity:0"), (begin, "opacity:1"), (min(end, 1), "opacity:0")]
        css.append(keyframes(f"show{k}", visible[begin == 0 :]))
        css.append(f"#f{k}{{animation-name:show{k}}}")
    bar = Markup('<rect x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>').format
    heights = {e: HEIGHT * n / top for e, n in counts.items()}
    bars = Markup().join(
        bar(place(e) + 1, BASE - h, WIDTH - 2, h) for e, h in heights.items() if h >= 0.1
    )
    right = place(LAST)
    bounds = [(FIRST, SMALLEST, "lost"), (SMALLEST, OVER, "bar"), (OVER, LAST, "lost")]
    clipped = Markup(
        '<clipPath id="c{a}"><rect x="{x}" y="60" width="{width}" height="{height}"/></clipPath>'
        '<g clip-path="url(#c{a})"><g class="slide" fill="var(--{color})">{bars}</g></g>'
    ).format
    inside = Markup().join(
        clipped(a=a, x=place(a), width=place(b) - place(a), height=BASE - 60, color=color,
                bars=bars)
        for a, b, color in bounds
    )  # fmt: skip
    tick = Markup(
        '<text class="pale" x="{}" y="{}" text-anchor="middle">2'
        '<tspan dy="-5" font-size="9">{}</tspan></text>'
    ).format
    ticks = Markup().join(
        tick(place(e), BASE + 18, str(e).replace("-", "−")) for e in (-40, -32, -24, -14, 0, 16)
    )
    slider = BASE + 52
    track = per * SCALES[-1]
    shade = Markup(
        '<rect x="{}" y="60" width="{}" height="{}" fill="var(--{})"/>'
        '<text class="pale" x="{}" y="74">{}</text>'
    ).format
    shades = Markup().join(
        shade(place(a), place(b) - place(a), BASE - 60, color, place(a) + 4, told)
        for a, b, color, told in (
            (SMALLEST, NORMAL, "half", "fewer bits"),
            (NORMAL, OVER, "whole", "all 11 bits of float16"),
        )
    )
    return Markup("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">
<title>Gradients of an LSTM by size, and what float16 holds of them as the loss scale grows</title>
<style>{css}</style>
<rect width="100%" height="100%" rx="8" fill="var(--page)"/>
{shades}
{inside}
<path d="M{edge} {base}H{right}" stroke="var(--pale)"/>{ticks}
<path d="M{knob} {slider}h{track}" stroke="var(--pale)" stroke-width="4" stroke-linecap="round"/>
<circle class="knob" cx="{knob}" cy="{slider}" r="9" fill="var(--bar)"/>
<text class="pale" x="{beside}" y="{low}">loss scale S</text>
{words}
</svg>
""").format(
        wide=right + 20, high=slider + 24, css="".join(css), shades=shades, inside=inside,
        edge=EDGE, base=BASE, right=right, ticks=ticks, knob=knob, slider=slider, track=track,
        beside=knob + track + 20, low=slider + 5, words=Markup().join(words),
    )  # fmt: skip


def main():
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("--drawn-only", action="store_true", help="train nothing")
    if not parser.parse_args().drawn_only:
        COUNTS.write_text(json.dumps(counted()) + "\n", encoding="utf-8")
    counts = {int(e): n for e, n in json.loads(COUNTS.read_text(encoding="utf-8")).items()}
    PICTURE.write_text(drawn(counts), encoding="utf-8")
    for k in (0, 12, 28):
        small, large = shares(counts, k)
        print(f"S = 2^{k}: {percent(small)} become 0, {percent(large)} Inf")


if __name__ == "__main__":
    main()
