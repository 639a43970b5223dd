// Made by scripts/class_defaults.py from transformers 5.23.0; do not edit.
#include "plan/families/class_defaults.h"

#include <algorithm>
#include <iterator>

namespace posenc::plan {
namespace {

// clang-format off
constexpr ClassDefault kClassDefaults[] = {
#include "plan/families/class_defaults_1.inc"
#include "plan/families/class_defaults_2.inc"
#include "plan/families/class_defaults_3.inc"
#include "plan/families/class_defaults_4.inc"
#include "plan/families/class_defaults_5.inc"
#include "plan/families/class_defaults_6.inc"
#include "plan/families/class_defaults_7.inc"
};
// clang-format on

constexpr bool out_of_order(const ClassDefault& a, const ClassDefault& b) {
  return !comes_before(a, b.model_type, b.key);
}
static_assert(std::ranges::adjacent_find(kClassDefaults, out_of_order) == std::ranges::end(kClassDefaults));

}  // namespace

std::span<const ClassDefault> class_defaults() noexcept { return kClassDefaults; }
std::string_view class_defaults_version() noexcept { return "5.23.0"; }

}  // namespace posenc::plan
