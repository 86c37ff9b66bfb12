"""Mixed precision by the names of PyTorch's AMP."""
from minifp.compat.amp.autocasting import autocast, custom_bwd, custom_fwd, get_autocast_dtype, is_autocast_enabled
