"""torch.jit: scripts stay plain Python."""

from collections.abc import Callable
from typing import Any

from minifp.compat.torch.nothing import answers, decorator
from minifp.nn import Module as ScriptModule

__all__ = ["ScriptModule", "annotate", "export", "ignore", "is_scripting", "is_tracing", "script"]
__all__ += ["script_method", "unused"]
WHY = "modules stay plain Python"
script, script_method = decorator("jit.script", WHY), decorator("jit.script_method", WHY)
ignore, unused, export = (decorator(f"jit.{n}", WHY) for n in ("ignore", "unused", "export"))
is_scripting = is_tracing = answers(False)
annotate: Callable[[Any, Any], Any] = lambda type, value: value  # noqa: E731
