"""Runs programs in the playground's worker, and posts what they print, show and train.

What is posted, as post(kind, {...}): "text" (text, stream), "html" (html), "verdict" (passed, text:
of a challenge), and what steps.py says.
"""

import builtins
import io
import sys
import traceback
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout

from challenge import Run, judged
from pyodide.code import eval_code
from steps import Steps

from minifp.errors import TrainingError
from minifp.training import mixed

NAME = "program.py"


class Stream(io.TextIOBase):
    """Standard output or error: each text is posted as it is written."""

    encoding = "utf-8"

    def __init__(self, post, name):
        self.post, self.name = post, name

    def writable(self):
        return True

    def write(self, text):
        if text:
            self.post("text", {"text": text, "stream": self.name})
        return len(text)


class Playground:
    """Runs programs, one after the other, each with names of its own. channel: see steps.py."""

    def __init__(self, post, channel):
        self.post, self.channel = post, channel
        builtins.display = self.show  # as in notebooks

    def show(self, *things):
        """Show things as a notebook does: as HTML where they have it, else as text."""
        for thing in things:
            html = getattr(thing, "_repr_html_", lambda: None)()
            if html is None:
                print(repr(thing))
            else:
                self.post("html", {"html": html})

    def run(self, source, check=""):
        """Run a program and show the value of its last line; "done", "stopped" or "failed".

        check: of a challenge. It judges what ends, or what minifp stops because training broke.
        """
        run = Run({"__name__": "__main__"})
        with self.observed():
            how = self.ended(source, run, run.observed() if check else nullcontext())
            if check and (how == "done" or isinstance(run.error, TrainingError)):
                how = self.judge(check, run) or how
        return how

    def ended(self, source, run, observed):
        """Run a program, and keep what stopped it; how it ended."""
        try:
            with observed:
                last = eval_code(source, run.names, filename=NAME)
            if last is not None:
                self.show(last)
        except KeyboardInterrupt:
            return "stopped"
        except SystemExit as exit:
            return self.left(exit.code)
        except BaseException as error:
            run.error = error
            tell(error)
            return "failed"
        return "done"

    def judge(self, check, run):
        """Post what a challenge's check says; "stopped" where it was."""
        try:
            passed, text = judged(check, run)
        except KeyboardInterrupt:
            return "stopped"
        self.post("verdict", {"passed": passed, "text": text})
        return None

    @contextmanager
    def observed(self):
        """Post what is printed, and each step of an optimizer, within."""
        steps = Steps(self.post, self.channel)
        out, err = Stream(self.post, "out"), Stream(self.post, "err")
        mixed.observers.append(steps)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                yield
        finally:
            mixed.observers.remove(steps)
            steps.close()

    def left(self, code):
        """What sys.exit(code) means: 0 or nothing is an end, a text is told."""
        if code in (None, 0):
            return "done"
        print(code, file=sys.stderr)
        return "failed"


def tell(error):
    """Print a traceback from the program's own lines on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
