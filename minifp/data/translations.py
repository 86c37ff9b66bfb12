"""Multi30k: descriptions of photographs in English, German and French, a sentence a line.

Source: Elliott, Frank, Sima'an and Specia 2016 (arXiv:1605.00459), French: Elliott et al. 2017
(arXiv:1710.07177). Licence: CC BY-NC-SA 4.0, so nothing of it comes with minifp.
"""

from collections.abc import Iterable
from pathlib import Path

from minifp.checks import check_choice
from minifp.data import downloads, files
from minifp.data.sentence_pairs import SentencePairs
from minifp.errors import ArgumentError, DataError

MIRRORS = ("https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/",)
# Of the compressed files, as the repository of its authors has them.
CHECKSUMS = {
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
PARTS = ("train", "val", "test_2016_flickr")
LANGUAGES = ("en", "de", "fr")
LARGEST = 2**24  # bytes of one text; the largest has 2.3 million


def multi30k(
    source: str = "en", target: str = "fr"
) -> tuple[SentencePairs, SentencePairs, SentencePairs]:
    """Return Multi30k: 29,000 sentence pairs to train with, 1,014 to choose by, 1,000 to test with.

    source, target: two of "en", "de" and "fr". Sentences are as written: with capitals, and the
    punctuation at its words. The test set is that of 2016. The texts, such as train.en or
    train.en.gz, are looked for in the folder that MINIFP_DATA names or in a folder multi30k in it,
    then in the user's cache, then downloaded (1.3 MB; their checksums are known). It is licensed
    for uses that are not commercial (CC BY-NC-SA 4.0).

    Raises ArgumentError for other languages, and DataError where texts are damaged, do not have as
    many lines as their translations, or cannot be had.
    """
    for name, language in (("source", source), ("target", target)):
        check_choice(f"multi30k: {name}", language, LANGUAGES)
    if source == target:
        raise ArgumentError(f"multi30k: source and target are both {source!r}: expected two")
    names = names_of((source, target))
    paths = downloads.local_or_cached("multi30k", {n: CHECKSUMS[n] for n in names}, MIRRORS)
    parts = []
    for part in PARTS:
        sources, targets = (lines(paths[f"{part}.{language}"]) for language in (source, target))
        name = f"Multi30k {source}-{target}, {part.partition('_')[0]}"
        parts.append(SentencePairs(sources, targets, name))
    return parts[0], parts[1], parts[2]


def names_of(languages: Iterable[str]) -> list[str]:
    """The names of the files of some languages."""
    return [f"{part}.{language}" for part in PARTS for language in languages]


def lines(path: Path) -> list[str]:
    """The lines of a text, compressed if its name ends in .gz. Raises DataError for no text."""
    content = files.read(Path(path), LARGEST)
    try:
        text = content[: LARGEST + 1].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error}. Download it again.") from error
    if len(content) > LARGEST or not text.strip():
        raise DataError(f"{path}: expected a text of 1 to {LARGEST} bytes, got {len(content)}")
    return text.removesuffix("\n").split("\n")
