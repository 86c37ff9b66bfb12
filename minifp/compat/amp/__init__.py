"""Mixed precision by the names of other systems: PyTorch's AMP, Apex's amp, TensorFlow's variable.

Each is thin: what it turns into is said where it is defined, and in docs/faces.md.
"""

from minifp.compat.amp.apex import (
    initialize,
    load_state_dict,
    master_params,
    scale_loss,
    state_dict,
)
from minifp.compat.amp.autocasting import (
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_enabled,
)
from minifp.compat.amp.automatic import disable_mixed_precision, enable_mixed_precision
from minifp.compat.amp.grad_scaler import GradScaler
from minifp.compat.amp.keras import LossScaleOptimizer, set_global_policy

__all__ = ["GradScaler", "LossScaleOptimizer", "autocast", "custom_bwd", "custom_fwd"]
__all__ += ["disable_mixed_precision", "enable_mixed_precision", "get_autocast_dtype"]
__all__ += ["initialize", "is_autocast_enabled", "load_state_dict", "master_params", "scale_loss"]
__all__ += ["set_global_policy", "state_dict"]
