"""BLEU and chrF of translations, by sacrebleu, with the signatures that say how they were counted.

BLEU: Papineni et al. 2002; chrF: Popović 2015; why by one program and on plain text: Post 2018
(arXiv:1804.08771).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from minifp.errors import DataError, MinifpError

HOW_TO_GET = 'BLEU and chrF need sacrebleu: python -m pip install "minifp[translation]"'


@dataclass(frozen=True)
class TranslationScores:
    """bleu, chrf: of all sentences together, 0 to 100. signatures: those of both, a line each."""

    bleu: float
    chrf: float
    signatures: str


def translation_scores(translations: Sequence[str], references: Sequence[str]) -> TranslationScores:
    """Return BLEU and chrF of translations as people would read them, with a reference each.

    Texts with their capitals and without spaces between words and punctuation: sacrebleu's default
    tokeniser is for these (Post 2018, arXiv:1804.08771). Raises DataError for other numbers of
    references, or none, and MinifpError where sacrebleu is missing.
    """
    if len(translations) != len(references) or not len(references):
        raise DataError(
            f"{len(translations)} translations and {len(references)} references: expected as many, "
            "and at least one"
        )
    try:
        import sacrebleu.metrics as metrics
    except ImportError as error:
        raise MinifpError(f"{HOW_TO_GET} ({error})") from error
    bleu, chrf = metrics.BLEU(), metrics.CHRF()
    scores = [float(m.corpus_score([*translations], [[*references]]).score) for m in (bleu, chrf)]
    signatures = f"BLEU {bleu.get_signature()}\nchrF {chrf.get_signature()}\n"
    return TranslationScores(scores[0], scores[1], signatures)
