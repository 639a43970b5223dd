#include "plan/read/default_sizes.h"

#include <algorithm>
#include <string_view>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

// "/stacks/0/layers" counts the layers; "/stacks/0/layers/0-31/heads" is a size of them, "/.../rotate/0/heads" is not.
bool is_layers(std::string_view where) { return where.ends_with("/layers"); }

constexpr std::string_view kDefaultPrefix = "default: ";

bool is_size(std::string_view where) {
  constexpr auto kSlashes = 5;
  if (is_layers(where)) return true;
  return (where.ends_with("/heads") || where.ends_with("/head_dim")) && std::ranges::count(where, '/') == kSlashes;
}

}  // namespace

void warn_of_default_sizes(ConfigReader& reader, std::span<const ValueSource> sources) {
  const auto layers = std::ranges::find_if(sources, is_layers, &ValueSource::where);
  const bool any_given = std::ranges::any_of(
      sources, [](const ValueSource& source) { return is_size(source.where) && source.from.starts_with('/'); });
  if (any_given || layers == sources.end() || !layers->from.starts_with(kDefaultPrefix)) return;
  reader.warn("default-sizes",
              formatted("The file gives no layers, no heads and no head_dim: all are defaults of the class ({}).",
                        layers->from.substr(kDefaultPrefix.size())),
              {});
}

}  // namespace posenc::plan
