// The known names that a mistyped one most likely meant.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace posenc::plan {

// Insertions, deletions and replacements between the first 64 bytes of two names.
std::size_t edits(std::string_view a, std::string_view b) noexcept;

// The `count` names with the fewest insertions, deletions and replacements between them and `given`, nearest first;
// ties in the order of `names`. Only the first 64 bytes of each are compared.
std::vector<std::string_view> nearest_names(std::string_view given, std::span<const std::string_view> names,
                                            std::size_t count);

}  // namespace posenc::plan
