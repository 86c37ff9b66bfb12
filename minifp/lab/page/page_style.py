"""The rules of style that only pages of comparisons have: verdicts, maps, the demo's contents."""

from minifp.report.markup import part

STYLE = part("comparison.css", __package__)
