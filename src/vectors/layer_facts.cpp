#include "vectors/layer_facts.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "base/formatted.h"

namespace posenc::inline v0_2::golden {
namespace {

// describe() indents what it says of a layer by 4, and what follows a break by 6.
constexpr std::size_t kOfLayer = 4;

std::size_t indent_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

// Whether places, "0-4,6", have this one.
bool holds_place(std::string_view places, std::size_t place) {
  while (!places.empty()) {
    const std::size_t comma = std::min(places.find(','), places.size());
    const std::string_view part = places.substr(0, comma);
    places.remove_prefix(std::min(comma + 1, places.size()));
    const std::size_t dash = part.find('-');
    const auto number = [](std::string_view text, std::size_t otherwise) {
      std::size_t out = otherwise;
      std::from_chars(text.data(), text.data() + text.size(), out);
      return out;
    };
    const std::size_t first = number(part.substr(0, dash), SIZE_MAX);
    const std::size_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1), 0);
    if (first <= place && place <= last) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> facts_of(const Plan& plan, const Vectors& vectors) {
  Plan alone{.known = plan.known,
             .model_type = plan.model_type,
             .family = plan.family,
             .source = plan.source,
             .trained_length = plan.trained_length,
             .length = vectors.options.length,
             .stacks = {{.name = vectors.stack, .input = {}, .layers = {vectors.layer}}},
             .sources = {},
             .absent_keys = {},
             .ignored_keys = {},
             .warnings = {}};
  std::vector<std::string> out;
  const std::string text = describe(alone);
  bool continues = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t indent = indent_of(line);
    if (indent == kOfLayer) out.emplace_back(line.substr(indent));
    if (indent > kOfLayer && continues) out.back().append(" ").append(line.substr(indent));
    continues = indent >= kOfLayer && !out.empty();
  }
  if (vectors.layer.heads != vectors.plan_heads) {
    out.push_back(formatted("the model has {} heads, {} for keys and values; all of them do the same",
                            vectors.plan_heads, vectors.plan_kv_heads));
  }
  if (vectors.layer.qk_norm && vectors.layer.qk_norm->order == QkNorm::Order::before) {
    out.emplace_back("q and k are what the QK norm gives: it comes before the rotation");
  }
  for (const Rotate& rotate : vectors.layer.rotate) {
    if (rotate.role == RotateRole::indexer) out.emplace_back("the indexer's own queries and keys are not here");
    if (rotate.role == RotateRole::before_projection) {
      out.emplace_back("hidden states rotate before they are projected: q and k are what the projections give");
    }
  }
  if (vectors.layer.compression) out.emplace_back("compressed keys are not here: every key is of one token");
  if (vectors.layer.channel_scale) out.emplace_back("the learned scale per channel or head is in q");
  return out;
}

// "/stacks/0/layers/0-23/rotate/0/base"
std::vector<ValueSource> sources_of(const Plan& plan, const LayerChoice& choice) {
  const std::string before = formatted("/stacks/{}/layers/", choice.stack);
  std::vector<ValueSource> out;
  for (const ValueSource& source : plan.sources) {
    if (!source.where.starts_with(before)) continue;
    const std::string_view rest = std::string_view(source.where).substr(before.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos || !holds_place(rest.substr(0, slash), choice.place)) continue;
    out.push_back({std::string(rest.substr(slash + 1)), source.from});
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden
