"""Claims that are tested: what an exhibit is, how it is trained and judged, and what is shown.

The claims themselves are programs: those of the literature are in minifp.exhibits.
"""
