// The rotation of a vision tower: axes h and w over the pairs of a head (TowerAxes), and its base; no scaling rule.
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/rope/dicts.h"
#include "plan/rope/keys.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

constexpr std::int64_t kMaxPairEntries = kMaxListEntries / 2;  // axis numbers in all layers, 4 bytes each

// Towers scale nothing. transformers 5 calls the rule of their classes "axial".
void require_plain(RopeKeys& rope) {
  auto type = rope.find("rope_type");
  if (!type) type = rope.find("type");
  if (!type) return;
  const auto name = rope.reader().string(*type);
  if (name && *name != "default" && *name != "axial") {
    rope.reader().fail_stack(*type, ErrorKind::unknown_rope_type, "default or axial");
  }
}

double read_base(RopeKeys& rope) {
  const auto place = rope.find("rope_theta", keys::kBase);
  if (!place) {
    rope.fail_missing(keys::kBase.name());
    return 1;
  }
  rope.note("base", *place);
  return rope.reader().number(*place).value_or(1);
}

AxisMap axes_of(TowerAxes axes, std::int64_t pairs) {
  switch (axes) {
    case TowerAxes::h_then_w:
    case TowerAxes::h_then_w_strided: return axial_axes({"h", "w"}, pairs);
    case TowerAxes::w_then_h: return axial_axes({"w", "h"}, pairs);
    case TowerAxes::centred_h_then_w: return axial_axes({"h of -1 to 1", "w of -1 to 1"}, pairs);
    case TowerAxes::t_then_h_then_w: return axial_axes({"t", "h", "w"}, pairs);
    case TowerAxes::w_h_alternating: {
      AxisMap map{.names = {"w", "h"}, .of_pair = {}};
      for (std::int64_t p = 0; p < pairs; ++p) map.of_pair.push_back(static_cast<std::int32_t>(p % 2));
      return map;
    }
    case TowerAxes::none:
    case TowerAxes::w_beside_h: break;
  }
  return {};
}

std::vector<Rope> ropes_of(const Tower& tower, std::int64_t head_dim, double base, double factor) {
  Rope rope{.pairing = tower.family.pairing, .head_dim = head_dim, .dim = head_dim, .base = base};
  if (factor != 1) rope.scaling = LinearScaling{factor};
  if (tower.rotation.axes == TowerAxes::centred_h_then_w) rope.scaling = LinearScaling{1 / (2 * std::numbers::pi)};
  if (tower.rotation.axes == TowerAxes::t_then_h_then_w) rope.dim = head_dim / 6 * 6;
  if (tower.rotation.axes != TowerAxes::w_beside_h) {
    rope.axes = axes_of(tower.rotation.axes, rope.pairs());
    rope.axis_frequencies =
        tower.rotation.axes == TowerAxes::h_then_w_strided ? AxisFrequencies::strided : AxisFrequencies::per_axis;
    return {rope};
  }
  rope.dim = head_dim / 2;
  Rope second = rope;
  second.first_channel = rope.dim;
  rope.axes.names = {"w"};
  second.axes.names = {"h"};
  return {rope, second};
}

// Two axes share a head's pairs evenly; three leave channels that do not rotate.
bool suits(ConfigScope& scope, const Tower& tower, const TowerShape& shape) {
  const std::int64_t head_dim = shape.head_dim.value;
  const bool three = tower.rotation.axes == TowerAxes::t_then_h_then_w;
  if (three && head_dim < 6) {
    scope.fail(*shape.width_key, ErrorKind::out_of_range, "heads of at least 6 channels, a pair for each of three axes",
               formatted("{} channels a head", head_dim));
  } else if (!three && head_dim % 4 != 0) {
    scope.fail(*shape.width_key, ErrorKind::not_divisible, "heads whose channels divide by 4, two axes of pairs",
               formatted("{} channels a head", head_dim));
  } else if (head_dim / 2 > kMaxPairEntries / shape.layers) {
    scope.fail(*shape.width_key, ErrorKind::limit, formatted("at most {} pairs in all layers", kMaxPairEntries),
               formatted("{} pairs x {} layers", head_dim / 2, shape.layers));
  }
  return !scope.reader().failed();
}

}  // namespace

void read_tower_rotation(ConfigScope& scope, const Tower& tower, const TowerShape& shape, double factor,
                         LayerFacts& layer) {
  if (tower.rotation.axes == TowerAxes::none || scope.reader().failed()) return;
  if (tower.rotation.needs != nullptr && !scope.flag(*tower.rotation.needs).value.value_or(true)) return;
  if (!suits(scope, tower, shape)) return;
  RopeDicts dicts(scope);
  const Sourced<std::int64_t> no_length;
  RopeKeys rope(dicts, LayerTraits{}, no_length, shape.layers);
  require_plain(rope);
  const double base = read_base(rope);
  dicts.warn_unknown();
  for (std::string_view field : {"pairing", "first_channel", "axes"}) {
    rope.note(std::string(field), family_default(tower.family));
  }
  rope.note("dim", shape.head_dim.from);
  if (scope.reader().failed()) return;
  const std::vector<FieldSource> sources = rope.take_sources();
  for (Rope& one : ropes_of(tower, shape.head_dim.value, base, factor)) {
    if (const auto problem = check(one)) return rope.blame(*problem);
    layer.add(Rotate{.heads = shape.heads.value, .scheme = std::move(one), .offset = tower.rotation.offset}, sources);
  }
}

}  // namespace posenc::plan
