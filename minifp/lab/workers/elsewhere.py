"""Runs that other processes make, here or on a cluster: sent, heard of, and taken home."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from minifp.errors import TrainingError
from minifp.lab.compile_ahead import compile_for
from minifp.lab.workers.job import Outcome
from minifp.lab.workers.lane import GLANCE, DiedAgain
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.request import Request


class Elsewhere:
    """An engine whose runs are futures. Local and Cluster say how a run is sent.

    events: what is heard, (number of a run, what): where it begins, as a text; its steps; or the
    future, when it is done.
    """

    events: SimpleQueue
    places: dict[int, list[str]]  # where each run has begun

    def prepare(self, requests: Sequence[Request]) -> list:
        """Compile here before many do so, by steps of which the Runs are returned; and what cannot
        be trained shows here."""
        return compile_for(requests)

    def has_room(self, running: int) -> bool:
        """Whether one more run can be sent, beside those that are under way."""
        raise NotImplementedError

    def send(self, number: int, one: Request) -> Any:
        """The future of a run."""
        raise NotImplementedError

    def result(self, future: Any, one: Request) -> Outcome:
        """What has come home. Raises DiedAgain where the run is given up."""
        return future.result()

    def outcomes(
        self, requests: Sequence[Request], progress: Progress
    ) -> Iterator[tuple[Request, Outcome]]:
        """Each run as soon as it comes home. Raises TrainingError at the end where runs were given
        up, as their processes have died, and at once what a run raises."""
        self.events, self.places = SimpleQueue(), {}
        self.prepare(requests)
        waiting, running, lost = deque(enumerate(requests)), 0, list[str]()
        while waiting or running:
            while waiting and self.has_room(running):
                number, one = waiting.popleft()
                future, running = self.send(number, one), running + 1
                future.add_done_callback(lambda f, number=number: self.events.put((number, f)))
            for number, future in self.ended(requests, progress):
                one, places, running = requests[number], self.places.get(number, []), running - 1
                try:
                    outcome = self.result(future, one)
                except DiedAgain as error:
                    lost.append(f"{one} ({error})")
                    continue
                if len({*places}) > 1:
                    outcome.run.made["repeated"] = f"the worker {places[0]} died"
                yield one, outcome
        if lost:
            raise TrainingError(
                f"{len(lost)} of {len(requests)} runs were given up, because their processes died "
                f"again: {'; '.join(lost)}. A SIGKILL often means that the machine ran out of "
                "memory: try fewer jobs. All other runs are saved"
            )

    def ended(self, requests: Sequence[Request], progress: Progress) -> Iterator[tuple[int, Any]]:
        """The runs that have ended, after at most GLANCE seconds; how far others are is shown."""
        with suppress(Empty):
            event = self.events.get(timeout=GLANCE)
            while True:
                number, what = event
                if isinstance(what, str):
                    self.places.setdefault(number, []).append(what)
                    progress.begin(requests[number])
                elif isinstance(what, int):
                    progress.reached(requests[number], what)
                else:
                    yield number, what
                event = self.events.get_nowait()
