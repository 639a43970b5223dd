// Edges are gathered rule by rule; each is a distance from the token at 0, or a position. A window that reaches back by
// `past` is met by tokens at past (which sees 0) and at past + 1 (which does not).
#include "vectors/token_places.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "math/layer_axes.h"
#include "posenc/error.h"
#include "vectors/layer_choice.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::int64_t kFewTokens = 12;
constexpr std::int64_t kMostByItself = 24;                     // tokens, where edges ask for more than kFewTokens
constexpr std::int64_t kFarthestEdge = std::int64_t{1} << 24;  // up to which positions are floats
constexpr std::int64_t kFarthestStart = std::int64_t{1} << 40;

// ---- edges ----

// In the order in which they matter: where there are too few tokens the last are left out.
class Edges {
 public:
  void add(std::int64_t position) {
    if (position < 0 || position > kFarthestEdge) return;
    if (std::ranges::find(at_, position) == at_.end()) at_.push_back(position);
  }
  // The last that is on this side, and the first beyond.
  void add_both(std::int64_t last) {
    if (last > kFarthestEdge) return;
    add(last);
    add(last + 1);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(at_.size()); }
  const std::vector<std::int64_t>& all() const { return at_; }

 private:
  std::vector<std::int64_t> at_;
};

// ---- of the scaling rules ----

struct ScalingEdges {
  Edges& to;
  void operator()(std::monostate) const {}
  void operator()(const LinearScaling&) const {}
  void operator()(const NtkScaling&) const {}
  void operator()(const DynamicScaling& x) const {
    to.add_both(x.max_position_embeddings - 1);
    if (x.max_position_embeddings < kFarthestEdge) to.add(2 * x.max_position_embeddings);
  }
  void operator()(const QwenNtkScaling& x) const {
    if (x.seq_length < kFarthestEdge) to.add(2 * x.seq_length);
  }
  void operator()(const YarnScaling& x) const { to.add(x.original_max_position_embeddings); }
  void operator()(const LongRopeScaling& x) const { to.add_both(x.original_max_position_embeddings - 1); }
  void operator()(const Llama3Scaling& x) const { to.add(x.original_max_position_embeddings); }
  void operator()(const ProportionalScaling&) const {}
  void operator()(const FactorListScaling&) const {}
};

// ---- of score terms, values, regions and query scales ----

struct TermEdges {
  Edges& to;
  void operator()(const Alibi&) const {
    to.add(16);
    to.add(64);
  }
  void operator()(const T5Bias& x) const {
    // Exact up to half of the buckets of a direction, then by the logarithm up to max_distance.
    const std::int64_t exact = x.buckets / (x.bidirectional ? 4 : 2);
    to.add_both(exact - 1);
    to.add_both(x.max_distance - 1);
  }
  void operator()(const ClippedBias& x) const {
    to.add_both(x.past);
    to.add_both(x.future);
  }
  void operator()(const GridBias&) const {}
  void operator()(const Kerple&) const { to.add(64); }
  void operator()(const Fire&) const { to.add(64); }
  void operator()(const Sandwich&) const { to.add(64); }
  void operator()(const MlpBias&) const { to.add(64); }
  void operator()(const ShawKeys& x) const {
    to.add_both(x.left);
    to.add_both(x.right);
  }
  void operator()(const TransformerXl& x) const {
    if (x.clamp_length >= 0) to.add_both(x.clamp_length);
    if (x.distances) to.add_both(x.distances->high);
  }
  void operator()(const XlNet& x) const {
    if (x.clamp_length >= 0) to.add_both(x.clamp_length);
  }
  void operator()(const Deberta& x) const {
    if (x.buckets > 0) to.add_both(x.buckets / 2);
    to.add_both(x.max_distance - 1);
  }
  void operator()(const DecomposedHw&) const {}
  void operator()(const ContextualPosition&) const {}
  void operator()(const ForgetGate&) const {}
  void operator()(const DistanceLogits& x) const { to.add_both(x.extent - 1); }
};

struct RegionEdges {
  Edges& to;
  void operator()(std::monostate) const {}
  void operator()(const SelfExtend& x) const {
    to.add_both(x.window - 1);
    if (x.window < kFarthestEdge && x.group < kFarthestEdge) to.add_both(x.window + x.group - 1);
  }
  void operator()(const ReRope& x) const { to.add_both(x.window); }
  void operator()(const DualChunk& x) const {
    to.add_both(x.chunk - 1);
    if (x.chunk < kFarthestEdge) to.add_both(2 * x.chunk - 1);
  }
};

struct QueryEdges {
  Edges& to;
  void add(double position) const {
    if (position >= 1 && position <= static_cast<double>(kFarthestEdge)) {
      to.add_both(static_cast<std::int64_t>(position) - 1);
    }
  }
  void operator()(std::monostate) const {}
  void operator()(const Llama4Temperature& x) const { add(x.floor_scale - 1); }
  void operator()(const MinistralTemperature& x) const { add(static_cast<double>(x.original_max_position_embeddings)); }
  void operator()(const LogNScale& x) const { add(static_cast<double>(x.seq_length)); }
  void operator()(const BeamTemperature&) const { to.add(100); }
  void operator()(const InklingTemperature& x) const { add(x.floor); }
};

Edges edges_of(const LayerPlan& layer) {
  Edges out;
  if (layer.mask.window) {
    out.add_both(layer.mask.window->past);
    if (layer.mask.window->future > 0) out.add_both(layer.mask.window->future);
  }
  if (layer.mask.chunk) out.add_both(*layer.mask.chunk - 1);
  bool rotates = false;
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main) continue;
    std::visit(ScalingEdges{out}, rope(rotate).scaling);
    rotates = true;
  }
  std::visit(RegionEdges{out}, layer.regions);
  std::visit(QueryEdges{out}, layer.query_scale);
  for (const ScoreTerm& term : layer.score) std::visit(TermEdges{out}, term);
  if (const auto* shaw = std::get_if<ShawValues>(&layer.value)) {
    out.add_both(shaw->left);
    out.add_both(shaw->right);
  }
  // Pairs that rotate slowly have hardly moved before.
  if (rotates) out.add(1000);
  return out;
}

// 0, 1, 2, the edges, and then what lies between them, growing by half.
std::vector<std::int64_t> chosen_order(const LayerPlan& layer, const VectorOptions& options) {
  Edges edges = edges_of(layer);
  Edges all;
  for (const std::int64_t first : {0, 1}) all.add(first);
  for (const std::int64_t one : edges.all()) all.add(one);
  const std::int64_t tokens =
      options.tokens.value_or(std::clamp<std::int64_t>(all.size() + 3, kFewTokens, kMostByItself));
  for (std::int64_t next = 2; all.size() < tokens && next < 100; next += 1 + next / 2) all.add(next);
  for (std::int64_t next = 3; all.size() < tokens; ++next) all.add(next);
  std::vector<std::int64_t> out = all.all();
  out.resize(static_cast<std::size_t>(tokens));
  std::ranges::sort(out);
  return out;
}

std::vector<std::int64_t> counted(std::int64_t start, std::int64_t tokens) {
  std::vector<std::int64_t> out;
  for (std::int64_t t = 0; t < tokens; ++t) out.push_back(start + t);
  return out;
}

// ---- coordinates of several axes ----

// Rows and columns that the layer's tables have; 0: any number.
struct Grid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

Grid grid_of(const LayerPlan& layer) {
  Grid out;
  for (const ScoreTerm& term : layer.score) {
    if (const auto* grid = std::get_if<GridBias>(&term)) out = {grid->rows, grid->columns};
    if (const auto* sides = std::get_if<DecomposedHw>(&term)) out = {(sides->rows + 1) / 2, (sides->rows + 1) / 2};
  }
  return out;
}

// Cells row by row, in a grid that is wider than high, so that rows and columns are told apart.
std::vector<std::vector<std::int64_t>> cells(const Grid& grid, std::int64_t start, std::int64_t tokens) {
  auto width = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(tokens)))) + 1;
  if (grid.columns > 0) {
    width = std::min(width, grid.columns);
    if ((tokens + width - 1) / width > grid.rows) width = grid.columns;
    if (tokens > grid.rows * grid.columns) {
      refuse("tokens", formatted("be at most {}, the cells of the layer's grid,", grid.rows * grid.columns),
             formatted("{}", tokens));
    }
  }
  std::vector<std::vector<std::int64_t>> out(2);
  for (std::int64_t t = 0; t < tokens; ++t) {
    out[0].push_back(start + t / width);
    out[1].push_back(start + t % width);
  }
  return out;
}

// Text, an image two rows high, text again, as M-RoPE counts (arXiv 2409.12191, section 2.1): the image's cells have
// the text's next number as their time, and theirs plus row and column; text goes on behind the largest. What other
// axes there are counts both.
std::vector<std::vector<std::int64_t>> with_image(std::int64_t axes, std::int64_t start, std::int64_t tokens) {
  const std::int64_t text = std::max<std::int64_t>(1, tokens / 4);
  const std::int64_t columns = (tokens - text) / 3;
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(axes));
  std::int64_t next = start;
  const auto add_text = [&](std::int64_t count) {
    for (; count > 0; --count, ++next) {
      for (auto& axis : out) axis.push_back(next);
    }
  };
  add_text(text);
  for (std::int64_t cell = 0; cell < 2 * columns; ++cell) {
    const std::int64_t row = cell / columns;
    const std::int64_t column = cell % columns;
    out[0].push_back(next);
    out[1].push_back(next + row);
    for (std::size_t axis = 2; axis < out.size(); ++axis) {
      out[axis].push_back(next + column + (axis > 2 ? row : 0));
    }
  }
  if (columns > 0) next += std::max<std::int64_t>(2, columns);
  add_text(tokens - text - 2 * columns);
  return out;
}

void require_options(const VectorOptions& options) {
  const auto within = [](const char* field, std::optional<std::int64_t> value, std::int64_t least, std::int64_t most) {
    if (!value || (*value >= least && *value <= most)) return;
    refuse(field, formatted("be from {} to {}", least, most), formatted("{}", *value));
  };
  within("tokens", options.tokens, 1, kMostVectorTokens);
  within("start", options.start, 0, kFarthestStart);
}

}  // namespace

TokenPlaces token_places(const LayerPlan& layer, const VectorOptions& options) {
  require_options(options);
  const std::int64_t axes = math::axes_of(layer);
  TokenPlaces out;
  if (axes == 1) {
    out.order =
        options.start ? counted(*options.start, options.tokens.value_or(kFewTokens)) : chosen_order(layer, options);
    out.coordinates = {out.order};
    out.by_order = true;
    return out;
  }
  const std::int64_t tokens = options.tokens.value_or(kFewTokens);
  const Grid grid = grid_of(layer);
  if (options.start && grid.rows > 0) refuse("start", "be omitted, since the layer's tables are of one grid,", "given");
  const std::int64_t start = options.start.value_or(0);
  out.coordinates = axes == 2 ? cells(grid, start, tokens) : with_image(axes, start, tokens);
  const bool counts = layer.mask.window || layer.mask.chunk;
  VectorOptions of_order = options;
  of_order.tokens = tokens;
  out.order = counts && !options.start ? chosen_order(layer, of_order) : counted(0, tokens);
  return out;
}

}  // namespace posenc::inline v0_2::golden
