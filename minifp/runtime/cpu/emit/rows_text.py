"""Formulas of rows in LLVM's terms: a pass over the row for the sums that others need, and a last
one that stores.

What is dear and needed again, and running sums, are kept in the thread's workspace. Sums over rows
are added up in each chunk; whoever ends the last chunk adds those of the chunks, in their order.
"""

from typing import Any

from minifp.runtime.cpu.compile.machine import I64
from minifp.runtime.cpu.emit.row_totals import FEW, Totals


class RowText(Totals):
    """The text of a kernel of rows that lie one behind the other."""

    def text(self) -> str:
        """The module."""
        with self.code.chunks() as chunk:
            self.begin(chunk)
            self.chunk(chunk)
            self.end(chunk)
        self.code.finish()
        return self.code.text()

    def chunk(self, chunk: Any) -> None:
        """The rows of a chunk."""
        b, p = self.b, self.p
        first = b.mul(chunk, p["per"])
        stop = self.code.least(b.add(first, p["per"]), p["rows"])
        if self.totals and not self.formula.along:
            self.reduce(self.totals, first, stop, self.numbers)
            return
        with self.code.loop(first, stop, I64(FEW)) as few:
            with self.code.loop(few, self.code.least(b.add(few, I64(FEW)), stop)) as self.r:
                self.base = b.mul(self.r, p["n"])
                self.row()
            self.add_columns(chunk)

    def numbers(self, r: Any) -> list:
        """What is added up of a row of one number."""
        self.r, elements = r, self.elements(dict(self.once))
        return [elements.value(n.args[0]) for n in self.totals]

    def row(self) -> None:
        """The row, or the rows that are computed together."""
        for at in range(1, self.formula.passes + 1):
            self.know(at)
            self.sum(at)
            for backward in (False, True):
                self.scan(at, backward)
        last = self.formula.passes + 1
        self.know(last)
        if "e" in self.formula.forms or self.columns:
            with self.code.loop(I64(0), self.p["n"]) as i, self.each():
                self.store_elements(i, last)
        with self.each():
            elements = self.elements(self.known(last))
            self.store("r", elements.value, self.r)
            for n in self.totals:
                self.join(n, elements.value(n.args[0]))

    def know(self, at: int) -> None:
        """Compute what is known of a row before pass `at`, and not earlier."""
        level = self.formula.level
        new = [n for n in self.lines if level[n] == at - 1 and n not in self.sums]
        if new:
            with self.each():
                elements = self.elements({n: x for n, x in self.known(at).items() if n not in new})
                for n in new:
                    self.b.store(elements.value(n), self.place(n))

    def sum(self, at: int) -> None:
        """Compute the sums that are known after pass `at`."""
        sums = [n for n in self.sums if self.formula.level[n] == at]

        def numbers(i):
            here = self.known(at)
            return [self.element(n.args[0], here, i, at) for n in sums]

        if sums:
            with self.each():
                self.start(sums)
            self.reduce(sums, I64(0), self.p["n"], numbers)
            with self.each():
                for n in sums:
                    self.b.store(self.result(n), self.place(n))

    def scan(self, at: int, backward: bool) -> None:
        """Compute, and keep, the running sums that are known after pass `at`."""
        level, n = self.formula.level, self.p["n"]
        scans = [s for s in self.formula.scans if level[s] == at and s.value[1] == backward]
        if scans:
            with self.each():
                self.start(scans)
            with self.code.loop(I64(0), n) as k:
                i = self.b.sub(self.b.sub(n, I64(1)), k) if backward else k
                with self.each():
                    here = self.known(at)
                    for s in scans:
                        self.element(s, here, i, at)

    def store_elements(self, i: Any, last: int) -> None:
        """The last pass, at place i."""
        here = self.known(last)
        self.store("e", lambda node: self.element(node, here, i, last), self.at(i))
        for k, node in enumerate(self.columns):
            x, at = self.element(node.args[0], here, i, last), self.column(k, i)
            self.b.store(self.b.fadd(self.b.load(at), x, flags=("contract",)), at)
