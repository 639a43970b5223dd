// The parts of a report, each written where it is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_writer.h"
#include "posenc/compare.h"
#include "posenc/plan.h"
#include "posenc/report.h"
#include "report/reach.h"

namespace posenc::report {

// Layers of a stack that are alike, as the page calls them.
struct Kind {
  std::string name;  // "A", ..., "Z", "A1", ...
  LayerRun run;
  const LayerPlan* layer = nullptr;  // the first of them
};
std::vector<Kind> kinds_of(const Stack& stack);

// "5, 11, 17, 23, 29": selection(), but few layers one by one.
std::string named_layers(const LayerRun& run);

// "A": what stands for the kind of that place in the list.
std::string letter(std::size_t at);

// What a model does, a sentence each: what a reader would ask of it first.
struct Finding {
  std::string_view about;  // "layers", "scaling", "switch", "verdict", "length", "positions", "window", "memory", ...
  std::string text;
};
std::vector<Finding> findings(const Plan& plan, const Lengths& lengths);

// Those of one rotation, of the layer that looks furthest: where it switches, whether a longer text hurts and why, what
// rounding costs. `whose`: " of kind B", or nothing.
std::vector<Finding> rotation_findings(const Rope& rope, const LayerPlan& layer, const Plan& plan,
                                       const Lengths& lengths, const std::string& whose);

// As a sentence calls it, behind "by": "YaRN", "linear scaling", "Llama 3's rule"; nothing where there is none.
std::string_view rule_name(const Rope& rope);

// Where two rotations of one model are told: {"without YaRN", "with YaRN"}, or {"in the first", "in the second"} where
// their rules do not tell them apart.
struct Sides {
  std::string a = "in the first";
  std::string b = "in the second";
};
Sides sides_of(const Rope& a, const Rope& b);

// Whether words of --set made a rule of scaling, not a file.
bool is_rule_set(const Plan& plan);

// With its first letter as a sentence begins.
std::string capital(std::string text);

// The rotation of queries and keys; null where there is none.
const Rotate* main_rotation(const LayerPlan& layer);

// What the mask shows a query of the layer: "see all tokens before them".
std::string seen(const LayerPlan& layer);

// Whether two models have the same positions, from which length on they have not, and what differs then: a sentence
// each, the answer first.
std::vector<std::string> plain_verdict(const Plan& a, const Plan& b, const Comparison& comparison,
                                       const ReportOptions& options);

// Of two models whose rotations or masks differ, of the same channels: what the difference is to short and to long
// texts, and whether it hurts. `texts`: "Short texts (up to 8192 tokens)".
struct ByLength {
  std::string texts;
  std::string words;
};
std::vector<ByLength> by_length(const Plan& a, const Plan& b, const ReportOptions& options);

// {"fact", "words", "json", "from"} of each fact of a layer, its path as in the plan's JSON; and what a scaling rule
// takes where no file says it, and its attention factor at the target length where that is not 1.
void write_facts(io::JsonWriter& json, const Plan& plan, std::size_t stack, const Kind& kind, const Lengths& lengths);

// What the charts of one rotation show.
void write_rotation(io::JsonWriter& json, const Rotate& rotate, const LayerPlan& layer, const Lengths& lengths);

// The largest errors of cos and sin in the last positions before each of `positions`, against exact ones; nothing where
// float32 cannot hold the frequencies.
struct TableErrors {
  std::vector<std::int64_t> positions;
  std::vector<double> float32;   // of angles made in float32
  std::vector<double> bfloat16;  // of tables kept in bfloat16
};
std::optional<TableErrors> table_errors(const Rope& rope, const Lengths& lengths);

// What score terms add by distance, or which row of their table they take.
void write_biases(io::JsonWriter& json, const LayerPlan& layer, const Lengths& lengths);

// {"kind", "past", "future", "chunk", "detail"}: which keys a query sees.
void write_mask(io::JsonWriter& json, const LayerPlan& layer);

// The query scale by position; null without one.
void write_query_scale(io::JsonWriter& json, const LayerPlan& layer, const Lengths& lengths);

// What a layer caches: numbers for each token, tokens that it keeps at most, whose cache it shares, bytes at the
// lengths of the whole model's cache; null where nothing.
void write_cache(io::JsonWriter& json, const Stack& stack, const LayerPlan& layer, const Lengths& lengths);

// Bytes of the whole model's cache by length, in 16 bits a number, and the numbers behind them.
struct CacheSize {
  std::int64_t tokens = 0;
  double bytes = 0.0;
};
std::vector<CacheSize> cache_sizes(const Plan& plan, const Lengths& lengths);
void write_cache_sizes(io::JsonWriter& json, const Plan& plan, const Lengths& lengths);

// Lengths at which curves are drawn: powers of two up to `last`, and `last`.
std::vector<std::int64_t> doubling(std::int64_t first, std::int64_t last);

}  // namespace posenc::report
