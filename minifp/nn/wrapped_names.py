"""Names of weights that a wrapper around the model has changed: which it was, and what to do."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

# What stands between names, put there by torch.compile, DataParallel and FSDP.
INSIDE = ("_orig_mod.", "_fsdp_wrapped_module.", "_forward_module.", "_checkpoint_wrapped_module.")
INSIDE += ("module.",)


def advice(own: Any, state: Mapping) -> str:
    """How the names of a state_dict become the model's own, a sentence; "" where they cannot.

    own: the model's names. state: what was given: its tensors by name, or dicts of them.
    """
    own = {*own}
    for name, value in state.items():
        if isinstance(value, Mapping) and own & {*value}:
            return f"the tensors are in the entry {name!r}: load_state_dict(state[{name!r}]); "
    strange, missing = [n for n in state if n not in own], [n for n in own if n not in state]
    if prefix := prefix_of(strange, missing):
        other = f", or of a file fp.load(path, {{{prefix[:-1]!r}: model}})"
        return (
            f"names begin with {prefix!r}, as a wrapper around the model saved them: "
            f"load_state_dict({{n.removeprefix({prefix!r}): t for n, t in state.items()}})"
            f"{other * (prefix.count('.') == 1)}; "
        )
    for inside in INSIDE:
        if sum(n.replace(inside, "") in own for n in strange) > len(strange) / 2:
            return (
                f"names have {inside!r} in them, as a wrapper of modules saved them: "
                f"load_state_dict({{n.replace({inside!r}, ''): t for n, t in state.items()}}); "
            )
    if prefix := prefix_of(missing, strange):
        return (
            f"the model's names begin with {prefix!r}, but the names of the weights do not: "
            f"load_state_dict({{{prefix!r} + n: t for n, t in state.items()}}), or load them into "
            "the wrapped model; "
        )
    return ""


def prefix_of(longer: list, shorter: list) -> str:
    """What stands before more than half of the shorter names, with a dot at its end; or ""."""
    known, prefixes = {*shorter}, Counter[str]()
    for name in longer:
        parts = str(name).split(".")
        rests = (".".join(parts[k:]) for k in range(1, len(parts)))
        prefixes.update(name[: len(name) - len(rest)] for rest in rests if rest in known)
    prefix, count = max(prefixes.items(), key=lambda pair: pair[1], default=("", 0))
    return prefix if count > len(known) / 2 else ""
