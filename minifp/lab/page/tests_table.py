"""The table of tests: each arm's difference in each score, and what is claimed of it."""

from minifp.lab.arms import is_control
from minifp.lab.conclusions.sentences import sentence_case
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words
from minifp.report.content import Part, Table

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
HEAD = ("precision", "score", "pairs", "mean", "difference", f"{CONFIDENCE:.0%} interval")
HEAD += ("bootstrap", "SD", "margin", "p equivalent", "p different", "p not worse")
HEAD += ("sign-flip p", "pairing gain", "verdict")
BRIEF = (0, 1, 4, 5, 9, 10)  # at terminals
TESTS = ("equivalent", "different", "not_worse")


def tests_parts(comparison) -> list[Part]:
    """All scores of all arms but controls, then what the columns are; at terminals where anything
    is claimed."""
    claims = [c for c in comparison.claims() if not is_control(c.arm) and c.pairs]
    if not claims:
        return []
    notes = dict.fromkeys(c.score.note for c in claims if c.score.note)
    rows = [HEAD, *([c.arm, *cells(c)] for c in claims)]
    brief = BRIEF if any(c.verdict for c in claims) else ()
    whole = Table("Every score and its tests", rows, (1, 14), is_grouped=True, brief=brief)
    return [whole, *(sentence_case(f"{note}.") for note in notes), ABOUT]


def cells(claim) -> list[str]:
    """One claim."""
    score, paired = claim.score, claim.paired
    places = places_of(claim)
    low, high = map(score.shown, paired.bootstrap) if paired else (None, None)
    return [
        score.name if claim.reached is None else f"{score.name}: {mean_text(claim, places)}",
        str(claim.pairs),
        mean_text(claim, places),
        words.signed(claim.difference, places),
        ends(claim.low, claim.high, places),
        ends(low, high, places),
        words.fixed(paired.sd, places) if paired else "-",
        "-" if score.margin is None else f"{score.margin:.3g}",
        *(p_text(claim, name) for name in TESTS),
        f"{paired.sign_flip_p:.2g}" if paired else "-",
        f"{paired.pairing_gain:.3g}" if paired else "-",
        verdict(claim),
    ]


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
    return f"[{words.signed(low, places)}, {words.signed(high, places)}]"


def p_text(claim, name) -> str:
    """A p value, and the adjusted one."""
    if name not in claim.p or claim.coarse:
        return "-"
    adjusted = f" ({claim.holm[name]:.2g})" if name in claim.holm else ""
    return f"{claim.p[name]:.2g}{adjusted}"
