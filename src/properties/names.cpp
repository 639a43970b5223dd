// The names of stages, properties, bounds and judgements that JSON and the command line share; they are stable.
#include "posenc/properties.h"

namespace posenc::inline v0_2 {

// "unknown" is what a value outside its enumeration gives; no function here returns one.
std::string_view name(Stage stage) noexcept {
  switch (stage) {
    case Stage::input: return "input";
    case Stage::rotate: return "rotate";
    case Stage::score: return "score";
    case Stage::value: return "value";
  }
  return "unknown";
}

std::string_view name(Property property) noexcept {
  switch (property) {
    case Property::unique_f32: return "unique_f32";
    case Property::unique_bf16: return "unique_bf16";
    case Property::affine: return "affine";
    case Property::smooth: return "smooth";
    case Property::fixed_rule: return "fixed_rule";
    case Property::generalises: return "generalises";
    case Property::axes: return "axes";
    case Property::relative: return "relative";
    case Property::isometry: return "isometry";
    case Property::decay: return "decay";
  }
  return "unknown";
}

std::string_view name(Bound bound) noexcept {
  switch (bound) {
    case Bound::above: return "above";
    case Bound::at_most: return "at_most";
    case Bound::at_least: return "at_least";
  }
  return "unknown";
}

std::string_view name(Judgement judgement) noexcept {
  switch (judgement) {
    case Judgement::passes: return "passes";
    case Judgement::fails: return "fails";
    case Judgement::does_not_apply: return "does_not_apply";
  }
  return "unknown";
}

}  // namespace posenc::inline v0_2
