// The public C++ interface in one include.
#pragma once

#include "sing/backend/backend.hpp"
#include "sing/optim/named_options.hpp"
#include "sing/optim/optimizer.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter.hpp"
#include "sing/optim/schedule.hpp"
#include "sing/optim/standardizer.hpp"
#include "sing/rule/rules.hpp"
