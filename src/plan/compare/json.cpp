// Comparison -> JSON (docs/compare.schema.json).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/json/json_writer.h"
#include "plan/compare/compare.h"

namespace posenc::inline v0_2 {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kSchemaVersion = 2;

template <typename T>
void write_optional(JsonWriter& json, std::string_view key, const std::optional<T>& what) {
  json.key(key);
  if (what) {
    json.value(*what);
  } else {
    json.null();
  }
}

void write_text(JsonWriter& json, std::string_view key, const std::string& text) {
  json.key(key);
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}

void write_plan(JsonWriter& json, std::string_view key, const ComparedPlan& plan) {
  json.key(key);
  json.begin_object(JsonLayout::line);
  json.member("name", plan.name);
  json.member("kind", name(plan.kind));
  json.member("family", plan.family);
  json.member("known", plan.known);
  write_optional(json, "trained_length", plan.trained_length);
  json.end_object();
}

// Places in Stack::layers, as the paths of a plan's sources name them: "0-4,6-10".
void write_layers(JsonWriter& json, const ComparedLayers& layers) {
  json.member("stack", layers.stack);
  write_text(json, "layers_a", plan::places(layers.a));
  write_text(json, "layers_b", plan::places(layers.b));
}

void write(JsonWriter& json, const Difference& difference) {
  json.member("kind", name(difference.kind));
  write_text(json, "where_a", difference.where_a);
  write_text(json, "where_b", difference.where_b);
  json.key("a");
  json.verbatim(difference.a.json);
  json.key("b");
  json.verbatim(difference.b.json);
}

void write(JsonWriter& json, const CachedKeys& keys) {
  write_layers(json, keys.layers);
  json.member("use", name(keys.use));
  json.key("because");
  json.begin_array(JsonLayout::line);
  for (const KeyReason reason : keys.because) json.value(name(reason));
  json.end_array();
}

void write(JsonWriter& json, const PairingChange& change) {
  write_layers(json, change.layers);
  json.member("rotation", change.rotation);
  json.member("a", name(change.a));
  json.member("b", name(change.b));
  json.member("first_channel", change.first_channel);
  json.member("dim", change.dim);
  json.key("rows");
  json.numbers(std::span(change.rows));
}

void write(JsonWriter& json, const AngleChange& change) {
  write_layers(json, change.layers);
  json.member("rotation", change.rotation);
  json.member("role", name(change.role));
  json.member("pairs", change.pairs);
  json.member("pair", change.pair);
  json.member("inv_freq_difference", change.inv_freq_difference);
  write_optional(json, "first_position", change.first_position);
  write_optional(json, "end_difference", change.end_difference);
  json.member("attention_factor_ratio", change.attention_factor_ratio);
}

void write(JsonWriter& json, const SoftmaxScaleChange& change) {
  write_layers(json, change.layers);
  json.member("ratio", change.ratio);
}

template <typename T>
void write_list(JsonWriter& json, std::string_view key, const std::vector<T>& statements) {
  json.key(key);
  json.begin_array();
  for (const T& statement : statements) {
    json.begin_object(JsonLayout::line);
    write(json, statement);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", kSchemaVersion);
  json.member("verdict", name(comparison.verdict));
  json.member("tolerance", comparison.tolerance);
  write_optional(json, "length", comparison.length);
  write_plan(json, "a", comparison.a);
  write_plan(json, "b", comparison.b);
  write_list(json, "differences", comparison.differences);
  write_list(json, "cached_keys", comparison.cached_keys);
  write_list(json, "pairings", comparison.pairings);
  write_list(json, "angles", comparison.angles);
  write_list(json, "softmax_scales", comparison.softmax_scales);
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
