"""Whether this Python runs in a browser, as WebAssembly: it then has no compiler, no threads, no
processes, a small stack, and integers of 32 bits where NumPy is not told otherwise.

Wherever something is done otherwise there, it asks here.
"""

import sys

IN_BROWSER = sys.platform == "emscripten"
