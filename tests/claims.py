"""Many claims in one test: all are looked at, and those that do not hold are raised together."""

from contextlib import contextmanager


class Claims:
    """Use it in a `with` block, whose end raises AssertionError with every claim that failed."""

    def __init__(self):
        self.errors, self.texts = [], []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self.errors:
            head = f"{len(self.errors)} do not hold, the first as above"
            raise AssertionError("\n\n".join([head, *self.texts])) from self.errors[0]

    @contextmanager
    def __call__(self, claim, *subject):
        """What fails in this block is this claim about this subject, such as a case."""
        try:
            yield
        except Exception as error:
            self.errors.append(error)
            lines = f"{type(error).__name__}: {error}".splitlines()[:12]
            self.texts.append("\n    ".join([f"{claim}: {', '.join(map(str, subject))}", *lines]))
