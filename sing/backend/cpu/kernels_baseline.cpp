// The loops for every machine of the architecture.
#include "sing/backend/cpu/kernel/kernel_table.hpp"
