// The charts of a rotation: wavelengths, what a rule did to them, how scores of equal tokens fall with distance, and
// what rounded tables lose by position.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "io/json/json_writer.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kCurvePoints = 160;

void write_numbers(JsonWriter& json, std::string_view key, const std::vector<double>& numbers) {
  json.key(key);
  json.numbers(std::span(numbers));
}

// Whole distances from 0 to `last`, the more the nearer.
std::vector<std::int64_t> distances_to(std::int64_t last) {
  std::vector<std::int64_t> out{0};
  const double step = std::pow(static_cast<double>(last), 1.0 / static_cast<double>(kCurvePoints));
  double at = 1.0;
  for (std::int64_t n = 0; n <= kCurvePoints; ++n, at *= step) {
    const std::int64_t d = n == kCurvePoints ? last : std::llround(at);
    if (d > out.back() && d <= last) out.push_back(d);
  }
  return out;
}

// The score of a query and a key that are the same token, all pairs of one size, over that at distance 0: the mean of
// cos(d w_p) over the pairs.
std::vector<double> equal_token_scores(const Frequencies& of, const std::vector<std::int64_t>& distances) {
  std::vector<double> out;
  for (const std::int64_t d : distances) {
    double sum = 0.0;
    for (const double w : of.inv_freq) sum += std::cos(static_cast<double>(d) * w);
    out.push_back(of.inv_freq.empty() ? 1.0 : sum / static_cast<double>(of.inv_freq.size()));
  }
  return out;
}

// Of each pair; infinite where the rule stops it, NaN where it does not turn either way.
std::vector<double> times_slower(const Frequencies& plain, const Frequencies& now) {
  std::vector<double> out;
  for (std::size_t p = 0; p < now.inv_freq.size(); ++p) out.push_back(plain.inv_freq[p] / now.inv_freq[p]);
  return out;
}

// {"position", "float32", "bfloat16"}; null where float32 cannot hold the frequencies.
void write_table_errors(JsonWriter& json, const Rope& rope, const Lengths& lengths) {
  json.key("tables");
  const std::optional<TableErrors> errors = table_errors(rope, lengths);
  if (!errors) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("position");
  json.numbers(std::span(errors->positions));
  write_numbers(json, "float32", errors->float32);
  write_numbers(json, "bfloat16", errors->bfloat16);
  json.end_object();
}

// Both lists of LongRoPE: {"at", "slower_up_to", "slower_beyond"}, inv_freq without the rule over that with it; null of
// other rules.
void write_switch(JsonWriter& json, const Rope& rope, const Reach& reach) {
  json.key("switch");
  const auto* const lists = std::get_if<LongRopeScaling>(&rope.scaling);
  if (lists == nullptr) {
    json.null();
    return;
  }
  const std::int64_t at = lists->original_max_position_embeddings;
  json.begin_object();
  json.member("at", at);
  write_numbers(json, "slower_up_to", times_slower(reach.plain, frequencies_at(rope, at)));
  write_numbers(json, "slower_beyond", times_slower(reach.plain, frequencies_at(rope, at + 1)));
  json.end_object();
}

}  // namespace

void write_rotation(JsonWriter& json, const Rotate& rotate, const LayerPlan& layer, const Lengths& lengths) {
  const Rope& of = rope(rotate);
  const Reach reach = reach_of(of, lengths, layer);
  const bool is_scaled = !std::holds_alternative<std::monostate>(of.scaling);
  json.begin_object();
  json.member("role", name(rotate.role));
  json.member("scaling", describe(of.scaling));
  json.member("by_time", is_rotated_by_time(of));
  json.member("length", reach.length);
  json.member("span", reach.span);
  json.key("before_scaling");
  reach.before ? json.value(*reach.before) : json.null();
  json.member("attention_factor", reach.now.attention_factor);
  write_numbers(json, "inv_freq", reach.now.inv_freq);
  write_numbers(json, "wavelength", wavelengths_of(reach.now.inv_freq));
  json.key("unscaled");
  if (is_scaled) {
    json.begin_object();
    write_numbers(json, "inv_freq", reach.plain.inv_freq);
    write_numbers(json, "wavelength", wavelengths_of(reach.plain.inv_freq));
    json.end_object();
    write_numbers(json, "slower", times_slower(reach.plain, reach.now));
  } else {
    json.null();
  }
  write_switch(json, of, reach);
  json.key("unseen");
  json.numbers(std::span(reach.unseen));
  json.key("unseen_without_rule");
  json.numbers(std::span(reach.unseen_if_plain));
  json.key("axis");
  json.begin_array(JsonLayout::line);
  for (const std::int32_t axis : of.axes.of_pair) json.value(of.axes.names[static_cast<std::size_t>(axis)]);
  json.end_array();
  const std::vector<std::int64_t> distances = distances_to(lengths.target);
  json.key("decay");
  json.begin_object();
  json.key("distance");
  json.numbers(std::span(distances));
  write_numbers(json, "score", equal_token_scores(reach.now, distances));
  if (is_scaled) write_numbers(json, "unscaled", equal_token_scores(reach.plain, distances));
  json.end_object();
  if (is_rotated_by_time(of)) {
    write_table_errors(json, of, lengths);
  } else {
    json.null_member("tables");
  }
  json.end_object();
}

}  // namespace posenc::report
