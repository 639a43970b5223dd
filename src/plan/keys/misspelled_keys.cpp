#include "plan/keys/misspelled_keys.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/formatted.h"
#include "plan/keys/key_notes.h"

namespace posenc::plan {
namespace {

// A model's file has some hundred keys; whatever has more is not searched to its end.
constexpr std::size_t kSearched = 1024;

}  // namespace

void warn_of_misspelled_keys(ConfigReader& reader, std::span<const std::string> unread) {
  for (const std::string& pointer : unread.first(std::min(unread.size(), kSearched))) {
    const std::string_view name = std::string_view(pointer).substr(pointer.rfind('/') + 1);
    const std::string_view meant = misspelled_key(name);
    if (meant.empty()) continue;
    reader.warn("unknown-key", formatted("{} is not a key that is known here; {} is.", pointer, meant), {pointer});
  }
}

}  // namespace posenc::plan
