"""Arguments that scripts give and that change nothing here, taken where the mirror is installed,
and said once; elsewhere they are refused (minifp/compat/arguments.py)."""

from minifp.compat.torch.nothing import say_once
from minifp.runtime.unknown_arguments import Call, title

WHY = {  # by an argument: why it does nothing
    "generator": "random numbers come from the streams of the process",
    "sparse": "gradients are dense, with the same numbers",
    "verbose": "schedules print nothing: scheduler.get_last_lr() has the rates",
}


def take(call: Call, name: str) -> None:
    """Leave the argument out; say so unless it asks for nothing."""
    if call.settings.pop(name) not in (None, False):
        say_once(f"{title(call.function, call.args)}({name}=...)", WHY[name])


TAKEN = dict.fromkeys(WHY, take)
