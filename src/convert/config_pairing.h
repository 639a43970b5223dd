// config.json of a converted checkpoint: the same text, with the one key that says which channels pair, where the
// model's class reads one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "posenc/convert.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::conversion {

struct ConfigEdit {
  std::string text;                    // of the new file
  std::optional<ConfigChange> change;  // nothing: no key says it, and the text is as it was
};

// Which key it is, the reader of plans decides: each known one is tried, where it stands or could stand, and kept if
// the stack's rotations, and nothing else of the plan, are as they shall be.
Result<ConfigEdit> with_pairing(const std::string& text, std::string_view name, std::string_view stack, Pairing to);

}  // namespace posenc::conversion
