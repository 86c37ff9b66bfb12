"""The memory ledger: what a step holds, by kind and by holder."""
