// Plan -> JSON (docs/plan.schema.json).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/json/fields.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "posenc/plan.h"

namespace posenc::plan {

bool has_index_and_kind_only(const LayerPlan& layer) {
  if (must_attend(layer.kind)) return false;
  LayerPlan bare;
  bare.index = layer.index;
  bare.kind = layer.kind;
  bare.begins_apart = layer.begins_apart;
  return layer == bare;
}

}  // namespace posenc::plan

namespace posenc::inline v0_2 {
namespace {

using io::JsonLayout;
using plan::attention_fields;
using plan::fields;
using plan::kind_fields;
using plan::Range;

// A visitor of fields.h that writes what it is shown.
class PlanWriter : public plan::OptionalFields<PlanWriter> {
 public:
  explicit PlanWriter(std::optional<std::int64_t> length) : length_(length) {}

  std::string take() { return json_.take(); }

  template <typename T>
  void field(std::string_view key, const T& what, Range = {}) {
    json_.key(key);
    write(what);
  }
  template <typename T>
  void nullable(std::string_view key, const std::optional<T>& what, Range = {}) {
    json_.key(key);
    if (what) {
      write(*what);
    } else {
      json_.null();
    }
  }
  void text(std::string_view key, const std::string& what) {
    json_.key(key);
    if (what.empty()) {
      json_.null();
    } else {
      json_.value(what);
    }
  }

  void write(const Plan& plan) {
    json_.begin_object();
    json_.member("schema_version", plan::kSchemaVersion);
    fields(*this, plan);
    json_.end_object();
  }

 private:
  void write(bool what) { json_.value(what); }
  void write(std::int64_t what) { json_.value(what); }
  void write(double what) { json_.value(what); }
  void write(const std::string& what) { json_.value(what); }
  void write(const std::vector<std::int64_t>& what) { json_.numbers(std::span(what)); }
  void write(const std::vector<std::int32_t>& what) { json_.numbers(std::span(what)); }
  void write(const std::vector<double>& what) { json_.numbers(std::span(what)); }

  template <typename E>
  requires std::is_enum_v<E>
  void write(E what) { json_.value(plan::enum_name(what)); }

  template <typename T>
  requires std::is_class_v<T>
  void write(const T& what) {
    json_.begin_object(JsonLayout::line);
    fields(*this, what);
    json_.end_object();
  }

  template <typename... T>
  void write(const std::variant<T...>& what) {
    std::visit(
        [&](const auto& alternative) {
          write_kind(plan::kKindKey<std::variant<T...>>, plan::kind_name(what), alternative);
        },
        what);
  }
  void write_kind(std::string_view, std::string_view, std::monostate) { json_.null(); }
  template <typename T>
  void write_kind(std::string_view key, std::string_view kind, const T& what) {
    json_.begin_object(JsonLayout::line);
    json_.member(key, kind);
    fields(*this, what);
    json_.end_object();
  }

  template <typename T>
  void write(const std::vector<T>& what) {
    json_.begin_array(std::is_same_v<T, std::string> ? JsonLayout::line : JsonLayout::lines);
    for (const T& element : what) write(element);
    json_.end_array();
  }

  void write(const std::vector<ValueSource>& sources) {
    json_.begin_object();
    for (const ValueSource& source : sources) json_.member(source.where, source.from);
    json_.end_object();
  }

  void write(const Stack& stack) {
    json_.begin_object();
    fields(*this, stack);
    json_.end_object();
  }

  void write(const LayerPlan& layer) {
    const bool is_short = plan::has_index_and_kind_only(layer);
    json_.begin_object(is_short ? JsonLayout::line : JsonLayout::lines);
    field("index", layer.index);
    kind_fields(*this, layer);
    if (!is_short) attention_fields(*this, layer);
    json_.end_object();
  }

  void write(const Rotate& rotate) {
    const Rope& rope = posenc::rope(rotate);
    const XPos* xpos = std::get_if<XPos>(&rotate.scheme);
    const Frequencies computed = frequencies(rope, length_);
    json_.begin_object();
    field("role", rotate.role);
    json_.member("kind", plan::kind_name(rotate.scheme));
    field("heads", rotate.heads);
    field("head_dim", rope.head_dim);
    field("pairing", rope.pairing.get());
    field("first_channel", rope.first_channel);
    field("dim", rope.dim);
    field("base", rope.base);
    field("scaling", rope.scaling);
    field("attention_factor", computed.attention_factor);
    field("axes", rope.axes.names);
    if (rope.axes.of_pair.empty()) {
      json_.null_member("axis_of_pair");
    } else {
      field("axis_of_pair", rope.axes.of_pair);
    }
    if (rope.axis_frequencies != AxisFrequencies::shared) field("axis_frequencies", rope.axis_frequencies);
    unless("rotation_direction", rope.rotation_direction, RotationDirection::counterclockwise);
    if (rotate.offset != 0) field("offset", rotate.offset);
    if (xpos != nullptr) field("scale_base", xpos->scale_base);
    field("inv_freq", computed.inv_freq);
    json_.end_object();
  }

  io::JsonWriter json_;
  std::optional<std::int64_t> length_;
};

[[noreturn]] void refuse(std::string field, std::string must, std::string is) {
  throw Error("to_json", Problem{std::move(field), std::move(must), std::move(is)});
}

void require_layer(const LayerPlan& layer, std::optional<std::int64_t> length, const std::string& place) {
  if (!plan::may_attend(layer.kind) && !plan::has_index_and_kind_only(layer)) {
    refuse(place, "have index and kind only", formatted("of kind {} with more", name(layer.kind)));
  }
  for (std::size_t r = 0; r < layer.rotate.size(); ++r) {
    if (const std::optional<Problem> problem = check(rope(layer.rotate[r]), length)) {
      refuse(formatted("{}.rotate[{}].{}", place, r, problem->field), problem->must, problem->is);
    }
  }
}

// Refuses what JSON could not hold.
void require(const Plan& plan) {
  if (plan.length && *plan.length < 1) refuse("length", "be at least 1", formatted("{}", *plan.length));
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) {
    const std::vector<LayerPlan>& layers = plan.stacks[s].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      require_layer(layers[l], plan.length, formatted("stacks[{}].layers[{}]", s, l));
    }
  }
  std::vector<std::string_view> places;
  for (const ValueSource& source : plan.sources) places.push_back(source.where);
  std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end());
  if (twice != places.end()) refuse("sources", "name each place once", "two for " + std::string(*twice));
}

}  // namespace

std::string to_json(const Plan& plan) {
  require(plan);
  PlanWriter writer(plan.length);
  writer.write(plan);
  return writer.take();
}

}  // namespace posenc::inline v0_2
