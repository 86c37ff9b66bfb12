"""What decoding takes: of utterances greedily and by prefix beam, of sentences by beam search.

    python scripts/bench_decoding.py --count 1000 --threads 1

Networks are as small as the gallery's, and untaught: what they say is noise, of which a beam has
more to keep apart than of speech, and translations go on until the longest that is allowed.
"""

import argparse
import os
import time


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--count", type=int, default=1000, help="utterances, and sentences (1000)")
    add("--threads", default="1", help="how many (1)")
    add("--precision", default="mixed", help="of the networks (mixed)")
    given = parser.parse_args()
    if given.count < 1:
        parser.error(f"--count {given.count}: expected at least 1")
    return given


def utterances(count):
    """(what, function that decodes) of log-probabilities of 200 steps and 29 characters."""
    import numpy as np

    import minifp as fp
    from minifp.nn import functional as F

    scores = np.random.default_rng(0).normal(0, 4, (200, count, 29)).astype(np.float32)
    log_probs = F.log_softmax(fp.tensor(scores, dtype="float32"), -1)
    lengths = np.full(count, 200)
    yield "CTC, greedy", lambda: F.ctc_greedy_decode(log_probs, lengths)
    yield "CTC, prefix beam of 100", lambda: F.ctc_beam_search_decode(log_probs, lengths)


def sentences(count):
    """(what, function that translates) of sentences of 15 codes, 64 at a time."""
    import numpy as np

    import minifp as fp
    from minifp.models import Seq2Seq

    fp.manual_seed(0)
    model, codes = Seq2Seq(2000, 2000, 256, 2), np.random.default_rng(0).integers(3, 2000, (64, 15))

    def translate(width):
        for start in range(0, count, 64):
            rows = codes[: count - start]
            model.translate(fp.tensor(rows), np.full(len(rows), 15), width=width, longest=20)

    yield "translation, greedy", lambda: translate(1)
    yield "translation, beam of 4", lambda: translate(4)


def main():
    """Print a row for each."""
    given = options()
    os.environ["MINIFP_THREADS"] = given.threads
    import minifp as fp

    fp.set_precision(given.precision)
    print(f"| decoding {given.count:,} | seconds |\n|---|---|")
    for rows in (utterances, sentences):
        for what, decode in rows(given.count):
            for _ in range(2):  # the second time with warm kernels
                start = time.perf_counter()
                decode()
                taken = time.perf_counter() - start
            print(f"| {what} | {taken:.2f} |", flush=True)


if __name__ == "__main__":
    main()
