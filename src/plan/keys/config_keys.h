// The keys that bear on positions, by name: those of config_keys.inc, where each is said once.
#pragma once

#include "plan/keys/key.h"

namespace posenc::plan::keys {

#define POSENC_KEY(name, ...) inline constexpr Key name{__VA_ARGS__};
#include "plan/keys/config_keys.inc"
#undef POSENC_KEY

}  // namespace posenc::plan::keys
