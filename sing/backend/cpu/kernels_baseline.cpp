// The loops for the architecture's baseline, which every machine of it runs.
#include "sing/backend/cpu/kernel/kernel_table.hpp"
