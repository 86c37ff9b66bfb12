"""What the playground tells of a program that trains, and what the page's slider changes in it.

Posted: "step" of each optimizer (series, label, loss, scale, skipped; a loss of NaN where
`loss.backward()` was called), "glance" at some of them (see minifp/scope/glances.py), and "wished"
(text: what became of the slider's wish).
"""

import math
import time

from pyodide.ffi import can_run_sync, run_sync

from minifp.errors import ArgumentError
from minifp.scope.glances import Glances
from minifp.training.loss_scale import NoLossScale, StaticLossScale

PAUSE = 0.1  # seconds between two moments in which the page's messages are heard


class Steps:
    """Observes optimizers: what each step did, with the loss it went back from.

    channel: of the worker: wished(), log2 of the loss scale that the slider asks for, or None;
    breathe(), a promise after which the page's messages have been heard, or None where it shares
    memory; and stopped(), whether they say that the program is to stop.
    """

    def __init__(self, post, channel):
        self.post, self.channel, self.series = post, channel, {}
        self.glances = Glances(self.glance)
        self.heard = time.perf_counter()

    def number(self, optimizer):
        """Its number among those of the program."""
        return self.series.setdefault(id(optimizer), (len(self.series), optimizer))[0]

    def on_update(self, optimizer, gradients, factor):
        self.glances.on_update(optimizer, gradients, factor)

    def on_step(self, optimizer, result):
        self.glances.on_step(optimizer, result)
        losses = [float(recorded.loss) for recorded in optimizer.backwards]
        told = {"series": self.number(optimizer), "label": f"{optimizer.precision}"}
        told |= {"loss": sum(losses) / len(losses) if losses else math.nan}
        told |= {"scale": result.scale_before, "skipped": result.skipped}
        self.post("step", told)
        self.listen()
        wish = self.channel.wished()
        if wish is not None:
            self.post("wished", {"text": self.fulfil(optimizer, wish)})

    def glance(self, optimizer, data):
        self.post("glance", {"series": self.number(optimizer), **data})

    def listen(self):
        """Where the page can only send messages, let them arrive, now and then. Raises
        KeyboardInterrupt where they say so."""
        if time.perf_counter() - self.heard < PAUSE or not can_run_sync():
            return
        moment = self.channel.breathe()
        if moment is not None:
            run_sync(moment)
        if self.channel.stopped():
            raise KeyboardInterrupt
        self.heard = time.perf_counter()

    def fulfil(self, optimizer, exponent):
        """Give an optimizer another loss scale for its next step; what became of it, in words."""
        try:
            set_scale(optimizer, 2.0**exponent)
        except ArgumentError as error:
            return (
                f"The program's loss scale did not take 2^{exponent}: {error.__cause__ or error}."
            )
        return f"The next step has S = 2^{exponent}."

    def close(self):
        self.glances.close()


def set_scale(optimizer, scale):
    """Set the loss scale of the next backward; its rule goes on from there. One that is off becomes
    a constant. Raises ArgumentError for one that the rule's bounds exclude."""
    held = optimizer.loss_scale
    if isinstance(held, NoLossScale):
        optimizer.loss_scale = StaticLossScale(scale, held.patience)
    else:
        held.load_state_dict({**held.state_dict(), "value": scale})
