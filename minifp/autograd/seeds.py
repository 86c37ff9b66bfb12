"""What a gradient may know of its seed beside a number (see scaled.py)."""


class Chosen(float):
    """A seed that the caller of backward chose, and knows."""


class Unknown:
    """The seed of what was computed from gradients with a loss scale in them: unknown."""

    @staticmethod
    def refusal(what: str) -> str:
        """Why it is refused as a gradient."""
        return (
            f"{what} was computed from gradients that are still multiplied by the loss scale, and "
            "nobody can tell whether it is, too: call optimizer.unscale_() (of a GradScaler "
            "scaler.unscale_(optimizer)) first, and then compute"
        )
