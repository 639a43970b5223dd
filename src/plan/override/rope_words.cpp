// Words for the rotation but its rule: base, pairing, how many channels, direction, where positions count from, none.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

// Sets what `set` sets in each rotation that it takes, and says whence it comes.
template <typename Set>
std::size_t for_rotations(const StackEdit& edit, const Assignment& assignment, std::span<const std::size_t> layers,
                          std::string_view field, const Set& set) {
  std::size_t most = 0;
  for (const std::size_t place : layers) most = std::max(most, edit.layer(place).rotate.size());
  std::size_t changed = 0;
  for (std::size_t r = 0; r < most; ++r) {
    std::vector<std::size_t> those;
    for (const std::size_t place : layers) {
      std::vector<Rotate>& rotate = edit.layer(place).rotate;
      if (r < rotate.size() && set(rotate[r])) those.push_back(place);
    }
    replace_source(edit.plan, edit.at, those, formatted("rotate/{}/{}", r, field), set_by(assignment));
    changed += those.size();
  }
  return changed;
}

std::size_t set_base(const StackEdit& edit, const Assignment& assignment) {
  const double base = finite_number(assignment);
  return for_rotations(edit, assignment, rotating_layers(edit, "base"), "base", [&](Rotate& rotate) {
    mutable_rope(rotate).base = base;
    return true;
  });
}

bool is_indexer(const Rotate& rotate) { return rotate.role == RotateRole::indexer; }

// Of an indexer's rotation the class decides.
std::size_t set_pairing(const StackEdit& edit, const Assignment& assignment) {
  static constexpr std::array<std::string_view, 6> kNames = {"half", "interleaved", "neox",
                                                             "gptj", "rotate_half", "norm"};
  const std::size_t named = choice(assignment, kNames);
  const bool half = named == 0 || named == 2 || named == 4;
  return for_rotations(edit, assignment, rotating_layers(edit, "pairing"), "pairing", [&](Rotate& rotate) {
    if (is_indexer(rotate)) return false;
    mutable_rope(rotate).pairing = half ? Pairing::half : Pairing::interleaved;
    return true;
  });
}

// What rotated the end of a head still does.
void set_width(Rope& rope, std::int64_t dim) {
  const bool at_end = rope.first_channel > 0 && rope.first_channel + rope.dim == rope.head_dim;
  rope.dim = dim;
  if (at_end) rope.first_channel = rope.head_dim - dim;
}

std::size_t set_rotary_dim(const StackEdit& edit, const Assignment& assignment) {
  const std::int64_t dim = whole_number(assignment, 2, kMaxHeadDim);
  return for_rotations(edit, assignment, rotating_layers(edit, "dim"), "dim", [&](Rotate& rotate) {
    set_width(mutable_rope(rotate), dim);
    return true;
  });
}

// The part of a head that rotates, as partial_rotary_factor: trunc(head_dim * part). Of p-RoPE a parameter.
std::size_t set_part(const StackEdit& edit, const Assignment& assignment) {
  const double part = finite_number(assignment);
  if (part <= 0 || part > 1) refuse_value(assignment, "have a number above 0 and at most 1");
  std::vector<std::size_t> whole;
  std::vector<std::size_t> proportional;
  for (const std::size_t place : rotating_layers(edit, "dim")) {
    const Rope& scheme = rope(edit.layer(place).rotate.front());
    if (scheme.first_channel > 0) {
      refuse(
          assignment, "be for layers whose rotation starts at a head's first channel; rotary_dim sets others",
          formatted("for layer {}, which rotates from channel {} on", edit.layer(place).index, scheme.first_channel));
    }
    (std::holds_alternative<ProportionalScaling>(scheme.scaling) ? proportional : whole).push_back(place);
  }
  std::size_t changed = for_rotations(edit, assignment, whole, "dim", [&](Rotate& rotate) {
    Rope& scheme = mutable_rope(rotate);
    const double channels = std::trunc(static_cast<double>(scheme.head_dim) * part);
    if (channels < 2)
      refuse(assignment, "leave two channels that rotate", formatted("{} of {}", channels, scheme.head_dim));
    set_width(scheme, static_cast<std::int64_t>(channels));
    return true;
  });
  changed += for_rotations(edit, assignment, proportional, "scaling/partial_rotary_factor", [&](Rotate& rotate) {
    std::get<ProportionalScaling>(mutable_rope(rotate).scaling).partial_rotary_factor = part;
    return true;
  });
  return changed;
}

std::size_t set_direction(const StackEdit& edit, const Assignment& assignment) {
  static constexpr std::array<std::string_view, 2> kNames = {"counterclockwise", "clockwise"};
  const auto direction = static_cast<RotationDirection>(choice(assignment, kNames));
  return for_rotations(edit, assignment, rotating_layers(edit, "rotation_direction"), "rotation_direction",
                       [&](Rotate& rotate) {
                         mutable_rope(rotate).rotation_direction = direction;
                         return true;
                       });
}

std::size_t set_offset(const StackEdit& edit, const Assignment& assignment) {
  const std::int64_t offset = whole_number(assignment, -kMaxPosition, kMaxPosition);
  return for_rotations(edit, assignment, rotating_layers(edit, "offset"), "offset", [&](Rotate& rotate) {
    if (is_indexer(rotate)) return false;
    rotate.offset = offset;
    return true;
  });
}

// Values that rotate with the keys do not rotate either.
std::size_t set_none(const StackEdit& edit, const Assignment& assignment) {
  if (!is_none(assignment))
    refuse_value(assignment, "be none; base, rope_scaling, pairing, ... set a rotation's parts");
  const std::vector<std::size_t> layers = rotating_layers(edit, "rotate");
  for (const std::size_t place : layers) {
    LayerPlan& layer = edit.layer(place);
    layer.rotate.clear();
    layer.regions = {};
    if (std::holds_alternative<RotatedValues>(layer.value)) layer.value = {};
  }
  for (const std::string_view field : {"value", "regions"}) {
    std::vector<std::size_t> lost = layers;
    std::erase_if(lost, [&](std::size_t place) {
      const LayerPlan& before = edit.before.stacks[edit.at].layers[place];
      return field == "value" ? before.value == edit.layer(place).value : before.regions == edit.layer(place).regions;
    });
    forget_sources(edit.plan, edit.at, lost, field);
  }
  replace_source(edit.plan, edit.at, layers, "rotate", set_by(assignment));
  return layers.size();
}

}  // namespace

std::span<const LayerWord> rope_words() noexcept {
  static constexpr LayerWord kWords[] = {
      {"base", "rope_theta", "a rotation", set_base},
      {"pairing", {}, "a rotation", set_pairing},
      {"rotary_dim", {}, "a rotation", set_rotary_dim},
      {"partial", "partial_rotary_factor", "a rotation", set_part},
      {"direction", "rotation_direction", "a rotation", set_direction},
      {"offset", {}, "a rotation", set_offset},
      {"rope", {}, "a rotation", set_none},
  };
  return kWords;
}

}  // namespace posenc::plan
