"""What follows for a claim about loss scaling from what came out of an exhibit, as a sentence."""

from minifp.lab.conclusions.sentences import limits
from minifp.lab.exhibits.failures import failures_text
from minifp.lab.statistics.paired import DIFFERENT, DIVERGED, EQUIVALENT
from minifp.report import words

LEARNED = 1.5  # times what knowing nothing reaches


def called(arm: str) -> str:
    """An arm of mixed precision by its loss scale."""
    base, _, scale = arm.partition(",loss_scale=")
    if base != "mixed":
        return arm
    return f"S = {scale}" if scale else "dynamic S"


def finding(line) -> str:
    """Whether it is as in the paper; without a full stop."""
    if line.without.n == 0:
        return "nothing was trained yet"
    chance, reached = line.exhibit.chance, line.baseline.mean
    if chance is not None and words.is_number(reached) and reached < LEARNED * chance:
        return "float32 itself has learned nothing, so that nothing is compared"
    said = {"matches": unneeded, "fails": needing, "better": bettering}[line.exhibit.expects](line)
    if line.exhibit.is_own:
        said = said.replace("as in the paper", "as claimed", 1)
    return said


def basis(line, *before: str, row=None) -> str:
    """What a verdict rests on, where that is less than one would think, in brackets behind what is
    known before. row: that of an arm; by default without loss scaling."""
    row = row or line.without
    if row.verdict not in (EQUIVALENT, DIFFERENT):
        return f" ({'; '.join(before)})" if before else ""
    decided_by = "" if row.decided_by == line.metric else row.decided_by
    return limits(line.claims[row.precision], decided_by, before)


def unneeded(line) -> str:
    """Of the claim that no loss scaling is needed."""
    verdict = line.without.verdict
    if verdict == EQUIVALENT:
        return f"as in the paper, mixed precision matches float32 without loss scaling{basis(line)}"
    matching = matches(line)
    if verdict in (DIFFERENT, DIVERGED):
        more = f"with {matching} it does" if matching else "nor, so far, with it"
        alone = f"without loss scaling it does not match float32{basis(line)}"
        return f"not as in the paper: {alone}; {more}"
    return undecided(line)


def undecided(line) -> str:
    """There is no verdict without loss scaling."""
    matching = matches(line)
    also = f"; with {matching} it matches" if matching else ""
    return f"undecided without loss scaling{seeds(line.without)}{also}"


def needing(line) -> str:
    """Of the claim that without loss scaling training fails, and that with it it does not."""
    verdict, matching = line.without.verdict, matches(line)
    if verdict not in (EQUIVALENT, DIFFERENT, DIVERGED):
        return undecided(line)
    if verdict == EQUIVALENT or (verdict == DIFFERENT and not is_worse(line)):
        how = "matches" if verdict == EQUIVALENT else "ends better than"
        return f"not as in the paper: without loss scaling it {how} float32{basis(line)}"
    how = failures_text(line.failures[line.without.precision], line.without.n)
    began = f"without loss scaling it fails{basis(line, how or 'it ends worse')}"
    others = [row for row in line.scaled if row.verdict != EQUIVALENT]
    if not others:
        return f"as in the paper, {began}, and with {matching} it matches float32"
    broken = [of(line, row) for row in others if row.verdict in (DIFFERENT, DIVERGED)]
    if broken:
        also = f"; with {matching} it does" if matching else ""
        return (
            f"not as in the paper: {began}, but with {words.listed(broken)} it does not match "
            f"float32 either{also}"
        )
    left = words.listed([f"{called(row.precision)}{seeds(row)}" for row in others])
    also = f"with {matching} it matches float32, and " if matching else ""
    return f"as in the paper, {began}; {also}undecided with {left}"


def bettering(line) -> str:
    """Of the claim that without loss scaling it ends better than float32."""
    verdict, mixed = line.without.verdict, "without loss scaling mixed precision"
    if verdict == DIFFERENT and not is_worse(line):
        return f"as in the paper, {mixed} ends better than float32{basis(line)}"
    if verdict == EQUIVALENT:
        return f"not as in the paper: {mixed} is no better: it matches{basis(line)}"
    if verdict in (DIFFERENT, DIVERGED):
        return f"not as in the paper: {mixed} ends worse{basis(line)}"
    return undecided(line)


def matches(line) -> str:
    """The loss scales with which it matches float32, in words; empty for none."""
    return words.listed([of(line, row) for row in line.scaled if row.verdict == EQUIVALENT])


def of(line, row) -> str:
    """An arm by its loss scale, with what its verdict rests on."""
    return f"{called(row.precision)}{basis(line, row=row)}"


def is_worse(line) -> bool:
    """Whether it ends worse without loss scaling."""
    return (line.without.difference or 0.0) * (1 if line.goal == "max" else -1) < 0


def seeds(row) -> str:
    """How many would decide, where that is known."""
    if not row.needed:
        return ""
    if row.verdict is None:
        return f" (at least {row.needed} seeds are needed)"
    return f" (about {row.needed} seeds would decide, if there is no difference)"
