"""What a gradient may know of its seed beside a number (see scaled.py)."""


class Chosen(float):
    """A seed that the caller of backward chose, and knows."""


class Unknown:
    """The seed of what was computed from gradients with a loss scale in them: unknown."""

    @staticmethod
    def refusal(what: str) -> str:
        """Why it is refused as a gradient."""
        return (
            f"{what} was computed from gradients that are still multiplied by the loss scale, so "
            "it may or may not contain that factor: first call optimizer.unscale_() (for a "
            "GradScaler, scaler.unscale_(optimizer)), then compute"
        )
