"""Which format is used for what: formats, sums, the precision; and the kernels that obey it."""
