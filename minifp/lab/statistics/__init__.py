"""What may be concluded from paired runs. Nothing here knows runs: numbers come in, numbers go out.

Formulas and their sources are in each module; tests hold them against SciPy, which is not needed
here.
"""
