// The table of schemes and properties: each property's question and threshold, and the judgement of a scheme's number.
#include "posenc/properties.h"

#include <array>
#include <limits>
#include <optional>

#include "properties/encodings.h"
#include "properties/measures.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Entry;
using properties::Made;
using properties::Measured;
using properties::Rows;

// What rounding leaves is below 1e-11, what schemes do above 1e-3: between the two every threshold judges alike.
constexpr double kRounding = 1e-6;

// A tenth of the range of scores that training has seen. A choice: rules for longer texts leave from 0.02 to 0.3.
constexpr double kRise = 0.1;

// In the order of Property, which measure_property() indexes by. docs/properties.md has each number in full.
constexpr std::array<PropertyRule, kProperties> kRules{{
    {Property::unique_f32, Bound::above, 0.0, "are all places told apart in f32"},
    {Property::unique_bf16, Bound::above, 0.0, "are they in bf16"},
    {Property::affine, Bound::at_most, kRounding, "does one affine map lead from each place to the next"},
    {Property::smooth, Bound::at_most, 1.0, "are neighbours nearer than any two places"},
    {Property::fixed_rule, Bound::at_most, 0.0, "does a longer sequence need no more learned numbers"},
    {Property::generalises, Bound::at_most, kRise, "do scores beyond the trained length stay below the highest within"},
    {Property::axes, Bound::above, 0.0, "are the places of a square told apart"},
    {Property::relative, Bound::at_most, kRounding, "does the score depend on places by i - j alone"},
    {Property::isometry, Bound::at_most, kRounding, "do vectors keep their length"},
    {Property::decay, Bound::at_least, 1.0, "do scores of random tokens fall with distance"},
}};

bool passes(const PropertyRule& rule, double number) {
  switch (rule.bound) {
    case Bound::above: return number > rule.threshold;
    case Bound::at_most: return number <= rule.threshold;
    case Bound::at_least: return number >= rule.threshold;
  }
  return false;
}

// A scheme, and what its places look like once somebody asks.
class Subject {
 public:
  explicit Subject(const Entry& entry) : entry_(entry), made_(entry, {}) {}

  PropertyResult result(const PropertyRule& rule) {
    const std::optional<Measured> found = measured(rule.property);
    if (!found) return {.property = rule.property, .number = std::numeric_limits<double>::quiet_NaN()};
    return {.property = rule.property,
            .judgement = passes(rule, found->number) ? Judgement::passes : Judgement::fails,
            .number = found->number,
            .where = found->where};
  }

 private:
  std::optional<Measured> measured(Property property) {
    switch (property) {
      case Property::unique_f32: return smallest_distance(encodings(), properties::Rounding::f32);
      case Property::unique_bf16: return smallest_distance(encodings(), properties::Rounding::bf16);
      case Property::affine: return affine_residual(*made_, encodings());
      case Property::smooth: return largest_step(encodings());
      case Property::fixed_rule: return parameters_per_place(entry_);
      case Property::generalises: return rise_beyond_training(entry_);
      case Property::axes: return smallest_distance_on_square(entry_);
      case Property::relative: return deviation_from_relative(entry_);
      case Property::isometry: return change_of_length(*made_, encodings());
      case Property::decay: return fall_with_distance(entry_);
    }
    return std::nullopt;
  }

  // Computed once for the five properties that need them: an attention call over kMeasuredPlaces places.
  const Rows& encodings() {
    if (!encodings_) encodings_ = properties::encodings(*made_, kMeasuredPlaces);
    return *encodings_;
  }

  const Entry& entry_;
  Made made_;
  std::optional<Rows> encodings_;
};

}  // namespace

std::span<const PropertyRule> property_rules() { return kRules; }

PropertyResult measure_property(std::string_view scheme, Property property) {
  return Subject(properties::entry("measure_property", scheme)).result(kRules.at(static_cast<std::size_t>(property)));
}

std::vector<PropertyResult> measure_properties(std::string_view scheme) {
  Subject subject(properties::entry("measure_properties", scheme));
  std::vector<PropertyResult> out;
  for (const PropertyRule& rule : kRules) out.push_back(subject.result(rule));
  return out;
}

}  // namespace posenc::inline v0_2
