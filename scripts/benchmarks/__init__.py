"""The parts of scripts/bench.py: what is measured, the two libraries, the processes, the report."""
