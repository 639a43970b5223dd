// The built-in models, as data.
#pragma once

#include <span>

#include "posenc/read_plan.h"

namespace posenc::plan {

std::span<const Preset> preset_table() noexcept;

}  // namespace posenc::plan
