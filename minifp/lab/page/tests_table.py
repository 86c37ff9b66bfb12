"""The table of tests: each arm's difference in each score, and what is claimed of it."""

from markupsafe import Markup

from minifp.lab.arms import is_control
from minifp.lab.conclusions.sentences import sentence_case
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words
from minifp.report.markup import code, details, paragraph, table

ABOUT = (
    "Differences are paired by seed. A p value says how often data this far out would come up if "
    "the hypothesis of its test were true; it is not the probability of that hypothesis. That of "
    "the equivalence test is that the difference is beyond the margin (TOST: the larger p of two "
    "one-sided tests), that of the difference test that it is within it, that of the "
    "non-inferiority test that it is worse by more than the margin. In brackets: adjusted (Holm): "
    "of what decides for all that decides, of other scores for all here; below 0.05 a claim holds "
    "together with these. "
    "Sign-flip p: how often a mean this far from 0 comes up if the sign of each difference is "
    "chance; it assumes no distribution. "
    "Bootstrap: the interval again, without assuming one (BCa). Pairing gain: how many times as "
    "many seeds it would take without pairs."
)
P_VALUES = ("p, equivalence test", "p, difference test", "p, non-inferiority test")


def tests_table(comparison) -> Markup:
    """All scores of all arms but controls; what the columns are is told below, to open."""
    claims = [c for c in comparison.claims() if not is_control(c.arm) and c.pairs]
    if not claims:
        return Markup()
    head = ["precision", "score", "pairs", "mean", "difference", f"{CONFIDENCE:.0%} interval"]
    head += ["bootstrap", "SD", "margin", *P_VALUES]
    head += ["sign-flip p", "pairing gain", "verdict"]
    rows = [[code(c.arm), *map(words.typeset, cells(c))] for c in claims]
    notes = list(dict.fromkeys(c.score.note for c in claims if c.score.note))
    shown = table("Every score and its tests", head, rows, text_columns=(1, 14))
    told = [paragraph(sentence_case(f"{note}."), "small") for note in notes]
    content = Markup("\n").join([shown, *told, paragraph(ABOUT, "small")])
    return details("The tests behind the verdicts, and the other scores", content)


def cells(claim) -> list[str]:
    """One claim, as plain texts."""
    score, d = claim.score, claim.paired
    places = places_of(claim)
    found = [score.name, str(claim.pairs), mean_text(claim, places)]
    found += [words.signed(claim.difference, places), ends(claim.low, claim.high, places)]
    low, high = map(score.shown, d.bootstrap) if d else (None, None)
    found += [
        ends(low, high, places),
        words.fixed(d.sd, places) if d else "-",
    ]
    found += ["-" if score.margin is None else f"{score.margin:.3g}"]
    found += [p_text(claim, name) for name in ("equivalent", "different", "not_worse")]
    found += [f"{d.sign_flip_p:.2g}", f"{d.pairing_gain:.3g}"] if d else ["-", "-"]
    return [*found, verdict(claim)]


def mean_text(claim, places) -> str:
    """The mean; of steps to a target MLPerf's, with how many arrived."""
    if claim.reached is None:
        return words.fixed(claim.mean, places)
    return f"{words.fixed(claim.average, 0)} ({claim.reached} arrived)"


def verdict(claim) -> str:
    """What is claimed, or why nothing is."""
    if claim.verdict:
        weak = " (weak)" if claim.is_weak else ""
        return f"{claim.verdict}{weak}{', decides' if claim.decides else ''}"
    return "too coarse" if claim.coarse else "-"


def places_of(claim) -> int:
    """Decimals: by the margin, or else by the size of the difference's deviation."""
    sd = claim.paired.sd if claim.paired else 0
    return words.decimals(claim.score.margin or sd or 1.0)


def ends(low, high, places) -> str:
    """An interval."""
    if not words.is_number(low):
        return "-"
    return f"{words.signed(low, places)} to {words.signed(high, places)}"


def p_text(claim, name) -> str:
    """A p value, and the adjusted one."""
    if name not in claim.p or claim.coarse:
        return "-"
    adjusted = f" ({claim.holm[name]:.2g})" if name in claim.holm else ""
    return f"{claim.p[name]:.2g}{adjusted}"
