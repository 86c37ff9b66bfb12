// In place of CUDA's own: half is in shim.h.
#include "../shim.h"
