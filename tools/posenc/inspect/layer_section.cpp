// posenc inspect --layer N: everything about one layer, all frequencies too.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/plan_sections.h"
#include "inspect/rope_lengths.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kWidestAxis = 12;  // columns of an axis' name; those that are known are t, h, w

// "0,64" or "0,64 t": the two channels of a pair, and its axis where there are several.
std::string pair_channels(const Rope& rope, std::int64_t pair) {
  const bool half = rope.pairing == Pairing::half;
  const std::int64_t a = rope.first_channel + (half ? pair : 2 * pair);
  const std::int64_t b = half ? a + rope.dim / 2 : a + 1;
  std::string axis;
  if (!rope.axes.of_pair.empty()) {
    const auto at = static_cast<std::size_t>(rope.axes.of_pair[static_cast<std::size_t>(pair)]);
    if (at < rope.axes.names.size()) axis = " " + shorten(printable(rope.axes.names[at]), kWidestAxis);
  }
  return formatted("{},{}{}", a, b, axis);
}

// 9 significant digits: enough to tell any two float32 values apart, "1.23456789e-05": 14 columns. What rotates
// clockwise has a sign before them.
int frequency_columns(const Rope& rope) { return rope.rotation_direction == RotationDirection::clockwise ? 15 : 14; }

// Columns of a row before the frequency: pairs have up to three digits and channels nine columns, unless a rotation has
// more of them, or axes whose names are long.
struct RowWidths {
  std::int64_t pair = 3;
  std::int64_t channels = 9;
};
RowWidths row_widths(const Rope& rope) {
  RowWidths out;
  for (std::int64_t pair = 0; pair < rope.pairs(); ++pair) {
    out.pair = std::max(out.pair, columns(formatted("{}", pair)));
    out.channels = std::max(out.channels, columns(pair_channels(rope, pair)));
  }
  return out;
}

// At the right end of so many columns; its bytes may be more.
std::string at_end(std::string_view text, std::int64_t width) {
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(width - columns(text), 0)), ' ').append(text);
}

// In positions per turn, with five digits: whole numbers in full where there is room for them.
std::string wavelength_text(double inv_freq) {
  constexpr std::int64_t kRoom = 10;  // "6.2832e+45": no float has a longer wavelength
  if (inv_freq == 0.0) return "none";
  const double wavelength = 2.0 * std::numbers::pi / std::fabs(inv_freq);
  const std::string text = number(wavelength, 5);
  return columns(text) <= kRoom ? text : formatted("{:.4e}", wavelength);
}

// Pair, channels, inv_freq in radians per position, wavelength. As wide as the head below.
std::string frequency_row(const Rope& rope, const Frequencies& f, std::int64_t pair, const RowWidths& widths) {
  const double inv_freq = f.inv_freq[static_cast<std::size_t>(pair)];
  return formatted("{:>{}} {} {:>{}.8e} {:>10}", pair, widths.pair, at_end(pair_channels(rope, pair), widths.channels),
                   inv_freq, frequency_columns(rope), wavelength_text(inv_freq));
}

// For the length that was asked for, as --json has them; where a rule has others for other lengths, it is said which.
// Two columns of pairs where the page has room for them, read downwards. A row is mostly 3 + 9 + 14 + 10 columns and 3
// spaces, 39: two and a gap of 2 are just 80, and with signs they are not.
void add_frequencies(Page& page, const Plan& plan, const Rope& rope) {
  const Frequencies f = frequencies(rope, plan.length);
  const RowWidths widths = row_widths(rope);
  const std::string head =
      formatted("{} {} {:>{}} {:>10}", at_end("p", widths.pair), at_end("channels", widths.channels), "inv_freq",
                frequency_columns(rope), "wavelength");
  const bool are_two = 2 * columns(head) + 2 <= kColumns;
  const std::int64_t rows = are_two ? (rope.pairs() + 1) / 2 : rope.pairs();
  page.blank();
  const std::string holds = length_text(rope, plan.length);
  if (!holds.empty()) {
    page.line(
        page.paint(Style::dim, formatted("frequencies by {}{}", holds, plan.length ? "" : "; others by --length")));
  }
  page.line(page.paint(Style::dim, rows < rope.pairs() ? head + "  " + head : head));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::string text = frequency_row(rope, f, row, widths);
    if (row + rows < rope.pairs()) text += "  " + frequency_row(rope, f, row + rows, widths);
    page.line(text);
  }
}

// The four stages, and what of the layer bears on them, an entry each; stack_section.cpp says the same of many layers.
// Of a stack that is not `known`, what was not read is not called none.
void add_facts(Page& page, const Plan& plan, const LayerPlan& layer, bool known) {
  const std::string values = layer.value_dim == layer.head_dim ? "" : formatted(", values {}", layer.value_dim);
  page.entry(2, "heads", kTextAt,
             formatted("{}, {}, {} each{}", count(layer.heads, "head"), count(layer.kv_heads, "KV head"),
                       count(layer.head_dim, "channel"), values));
  std::string_view name = "added";
  for (const Added& added : layer.added) {
    page.entry(2, name, kTextAt, added_text(added));
    name = "";
  }
  name = "rotate";
  if (layer.rotate.empty() && known) page.entry(2, name, kTextAt, "none");
  for (const Rotate& rotate : layer.rotate) {
    page.entry(2, name, kTextAt, rotate_text(rotate, plan.length));
    name = "";
  }
  const std::string regions = regions_text(layer.regions);
  if (!regions.empty()) page.entry(2, "regions", kTextAt, regions);
  std::string biases;
  for (const ScoreTerm& term : layer.score) biases += score_text(term) + "; ";
  page.entry(2, "score", kTextAt, (biases.empty() && known ? "no bias; " : biases) + logits_text(layer));
  if (known || layer.value != ValueScheme{}) page.entry(2, "value", kTextAt, value_text(layer.value));
  page.entry(2, "mask", kTextAt, mask_text(layer.mask));
  if (known || layer.qk_norm) page.entry(2, "norm", kTextAt, layer.qk_norm ? norm_text(*layer.qk_norm) : "no QK norm");
  const std::string cache = cache_text(layer);
  if (!cache.empty()) page.entry(2, "cache", kTextAt, cache);
}

}  // namespace

// Each rotation has its wavelengths, the error of its tables, and a row for each pair.
bool add_layer(Page& page, const Plan& plan, const Stack& stack, std::int64_t index) {
  bool found = false;
  for (const LayerPlan& layer : stack.layers) {
    if (layer.index != index) continue;
    found = true;
    page.blank();
    page.line(page.paint(Style::bold, formatted("{}, layer {}", shorten(printable(stack.name), 40), index)) + ": " +
              kind_text(layer.kind));
    // Of other layers a plan has the index and the kind only.
    if (layer.kind != LayerKind::attention && layer.kind != LayerKind::cross_attention) continue;
    add_unknown(page, stack);
    add_facts(page, plan, layer, stack.known);
    if (!stack.known) continue;  // wavelengths of a rotation that the model may not have
    for (const Rotate& rotate : layer.rotate) {
      const std::vector<RopeOf> one{{&rope(rotate), ""}};
      page.blank();
      add_turns(page, plan, one);
      add_table_errors(page, plan, one);
      add_frequencies(page, plan, rope(rotate));
    }
  }
  return found;
}

}  // namespace posenc::tool
