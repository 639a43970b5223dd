#include "plan/layers/patch_grid.h"

#include <vector>

#include "base/formatted.h"

namespace posenc::plan {

std::string from_of(ConfigScope& scope, const Key& key) {
  const auto place = scope.peek(key);
  return place ? place->from : std::string();
}

Sides read_sides(ConfigScope& scope, const Key& key) {
  ConfigReader& reader = scope.reader();
  const auto place = scope.find(key);
  if (!place) {
    scope.required_integer(key, kGridSides);
    return {};
  }
  if (place->value.kind() != io::JsonKind::array) {
    const std::int64_t side = reader.integer(*place, kGridSides).value_or(1);
    return {side, side};
  }
  const std::vector<io::JsonValue> both = place->value.items();
  if (both.size() != 2) {
    reader.fail(*place, ErrorKind::length_mismatch, "a number, or a height and a width");
    return {};
  }
  const auto side = [&](const io::JsonValue& value) {
    return reader.integer({value, place->in_file ? value.pointer() : place->from, place->in_file}, kGridSides)
        .value_or(1);
  };
  const std::int64_t height = side(both[0]);
  return {height, side(both[1])};
}

PatchGrid read_patch_grid(ConfigScope& scope, const Key& image_key, const Key& patch_key) {
  const Sides image = read_sides(scope, image_key);
  const Sides patch = read_sides(scope, patch_key);
  if (scope.reader().failed()) return {};
  PatchGrid grid{image.height / patch.height, image.width / patch.width, from_of(scope, image_key)};
  if (grid.height >= 1 && grid.width >= 1) return grid;
  scope.fail(image_key, ErrorKind::out_of_range, "an image of at least one patch",
             formatted("a patch is {} x {} pixels", patch.height, patch.width));
  return {};
}

}  // namespace posenc::plan
