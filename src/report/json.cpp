// A report's numbers (docs/report.schema.json).
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "posenc/compare.h"
#include "posenc/error.h"
#include "posenc/report.h"
#include "posenc/version.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::int64_t kLongest = std::int64_t{1} << 53;

void write_optional(JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& number) {
  json.key(key);
  number ? json.value(*number) : json.null();
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key);
  json.begin_array(JsonLayout::line);
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

// [kind, layers in a row] from the first layer on: any depth in few numbers.
void write_strip(JsonWriter& json, const Stack& stack, const std::vector<Kind>& kinds) {
  std::vector<std::int64_t> kind_of(stack.layers.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (const std::int64_t place : kinds[k].run.layers) kind_of[static_cast<std::size_t>(place)] = std::int64_t(k);
  }
  json.begin_array(JsonLayout::line);
  for (std::size_t at = 0; at < kind_of.size();) {
    std::size_t end = at;
    while (end < kind_of.size() && kind_of[end] == kind_of[at]) ++end;
    const std::array<std::int64_t, 2> part{kind_of[at], std::int64_t(end - at)};
    json.numbers(std::span<const std::int64_t>(part));
    at = end;
  }
  json.end_array();
}

void write_kind(JsonWriter& json, const Plan& plan, std::size_t stack, const Kind& kind, const Lengths& lengths) {
  const LayerPlan& layer = *kind.layer;
  json.begin_object();
  json.member("name", kind.name);
  json.member("layers", named_layers(kind.run));
  json.member("count", std::int64_t(kind.run.layers.size()));
  json.member("first", layer.index);
  json.member("kind", name(layer.kind));
  json.key("facts");
  write_facts(json, plan, stack, kind, lengths);
  json.key("mask");
  write_mask(json, layer);
  json.key("rotations");
  json.begin_array();
  for (const Rotate& rotate : layer.rotate) write_rotation(json, rotate, layer, lengths);
  json.end_array();
  json.key("biases");
  write_biases(json, layer, lengths);
  json.key("query_scale");
  write_query_scale(json, layer, lengths);
  json.key("cache");
  write_cache(json, plan.stacks[stack], layer, lengths);
  json.end_object();
}

void write_stack(JsonWriter& json, const Plan& plan, std::size_t at, const Lengths& lengths) {
  const Stack& stack = plan.stacks[at];
  const std::vector<Kind> kinds = kinds_of(stack);
  json.begin_object();
  json.member("name", stack.name);
  json.member("known", stack.known);
  write_texts(json, "unknown", stack.unknown);
  json.member("layers", std::int64_t(stack.layers.size()));
  json.key("strip");
  write_strip(json, stack, kinds);
  json.key("kinds");
  json.begin_array();
  for (const Kind& kind : kinds) write_kind(json, plan, at, kind, lengths);
  json.end_array();
  json.end_object();
}

void write_warnings(JsonWriter& json, const Plan& plan) {
  json.key("warnings");
  json.begin_array();
  for (const Warning& warning : plan.warnings) {
    json.begin_object(JsonLayout::line);
    json.member("code", warning.code);
    json.member("text", warning.message);
    write_texts(json, "keys", warning.keys);
    json.end_object();
  }
  json.end_array();
}

// What --set said, from the sources: "set: base=1e6".
std::vector<std::string> settings_of(const Plan& plan) {
  constexpr std::string_view kSet = "set: ";
  std::vector<std::string> out;
  for (const ValueSource& source : plan.sources) {
    if (!source.from.starts_with(kSet)) continue;
    std::string words = source.from.substr(kSet.size());
    if (std::ranges::find(out, words) == out.end()) out.push_back(std::move(words));
  }
  return out;
}

// Where keys may stand in several objects, one of them has the value: the others do not lack it.
std::vector<std::string> lacking_keys(const Plan& plan) {
  const auto split = [](std::string_view path) {
    const std::size_t slash = std::min(path.rfind('/'), path.size());
    return std::pair(path.substr(0, slash), path.substr(slash));
  };
  const auto is_of_tower = [&](std::string_view where) {
    for (std::size_t s = 1; s < plan.stacks.size(); ++s) {
      const std::string& name = plan.stacks[s].name;
      const bool is_tower = name.starts_with("vision") || name.starts_with("audio");
      if (is_tower && where.starts_with(formatted("/stacks/{}/", s))) return true;
    }
    return false;
  };
  std::vector<std::string> out;
  for (const std::string& key : plan.absent_keys) {
    const auto parts = split(key);
    const std::string_view above = parts.first;
    const bool is_elsewhere = std::ranges::any_of(plan.sources, [&](const ValueSource& source) {
      const auto [there, other] = split(source.from);
      return source.from.starts_with('/') && other == parts.second &&
             (there.starts_with(above) || above.starts_with(there)) && !(above.empty() && is_of_tower(source.where));
    });
    if (!is_elsewhere) out.push_back(key);
  }
  return out;
}

void write_model(JsonWriter& json, const Plan& plan, const ReportOptions& options) {
  const Lengths lengths = lengths_of(plan, options.length);
  json.begin_object();
  json.member("name", plan.source.name.empty() ? plan.model_type : plan.source.name);
  write_texts(json, "set", settings_of(plan));
  json.member("source", name(plan.source.kind));
  json.member("model_type", plan.model_type);
  json.member("family", plan.family);
  json.member("known", plan.known);
  write_optional(json, "trained_length", lengths.trained);
  json.member("length", lengths.target);
  json.key("findings");
  json.begin_array();
  for (const Finding& finding : findings(plan, lengths)) {
    json.begin_object(JsonLayout::line);
    json.member("about", finding.about);
    json.member("text", finding.text);
    json.end_object();
  }
  json.end_array();
  json.key("stacks");
  json.begin_array();
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) write_stack(json, plan, s, lengths);
  json.end_array();
  json.key("cache");
  write_cache_sizes(json, plan, lengths);
  write_warnings(json, plan);
  write_texts(json, "absent_keys", lacking_keys(plan));
  write_texts(json, "ignored_keys", plan.ignored_keys);
  json.end_object();
}

// The names of the kinds of layers that a run touches.
void write_kind_names(JsonWriter& json, std::string_view key, const Plan& plan, const std::string& stack,
                      const LayerRun& run) {
  std::vector<std::string> names;
  auto of = std::ranges::find(plan.stacks, stack, &Stack::name);
  if (plan.stacks.size() == 1) of = plan.stacks.begin();  // whatever it is called, as compare has it
  for (const Kind& kind : of == plan.stacks.end() ? std::vector<Kind>() : kinds_of(*of)) {
    const auto is_there = [&](std::int64_t place) { return std::ranges::binary_search(kind.run.layers, place); };
    if (std::ranges::any_of(run.layers, is_there)) names.push_back(kind.name);
  }
  write_texts(json, key, names);
}

void write_comparison(JsonWriter& json, const Plan& a, const Plan& b, const ReportOptions& options) {
  const Comparison comparison = compare(a, b, options.compare);
  json.begin_object();
  json.member("verdict", name(comparison.verdict));
  json.key("plainly");
  json.begin_array();
  for (const std::string& sentence : plain_verdict(a, b, comparison, options)) json.value(sentence);
  json.end_array();
  json.key("by_length");
  json.begin_array();
  for (const ByLength& one : by_length(a, b, options)) {
    json.begin_object(io::JsonLayout::line);
    json.member("texts", one.texts);
    json.member("words", one.words);
    json.end_object();
  }
  json.end_array();
  json.member("words", describe(comparison));
  json.key("differences");
  json.begin_array();
  for (const Difference& difference : comparison.differences) {
    json.begin_object(io::JsonLayout::line);
    json.member("kind", name(difference.kind));
    json.member("stack", difference.layers.stack);
    json.member("layers_a", difference.layers.a.layers.empty() ? "" : named_layers(difference.layers.a));
    json.member("layers_b", difference.layers.b.layers.empty() ? "" : named_layers(difference.layers.b));
    write_kind_names(json, "kinds_a", a, difference.layers.stack, difference.layers.a);
    write_kind_names(json, "kinds_b", b, difference.layers.stack, difference.layers.b);
    json.member("field", difference.field);
    json.member("a", difference.a.words);
    json.member("b", difference.b.words);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void check_options(std::span<const Plan> plans, const ReportOptions& options) {
  if (plans.empty()) throw Error("report", {"plans", "be at least one", "none"});
  if (options.length && (*options.length < 1 || *options.length > kLongest)) {
    throw Error("report", {"length", "be from 1 to 2^53 tokens", std::to_string(*options.length)});
  }
}

}  // namespace
}  // namespace posenc::report

namespace posenc::inline v0_2 {

std::string report_json(std::span<const Plan> plans, const ReportOptions& options) {
  report::check_options(plans, options);
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", report::kSchemaVersion);
  json.member("posenc", formatted("{}.{}.{}", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH));
  json.key("models");
  json.begin_array();
  for (const Plan& plan : plans) report::write_model(json, plan, options);
  if (options.against != nullptr) report::write_model(json, *options.against, options);
  json.end_array();
  json.key("comparison");
  if (options.against == nullptr) {
    json.null();
  } else {
    report::write_comparison(json, plans.front(), *options.against, options);
  }
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
