// Additions and products, counted on the primitives that a scheme lowers to (math/primitives.h), so that what is
// counted is what is computed. A product that is summed counts as both. Exponentials, comparisons and look-ups are not
// counted, nor is what makes tables that no token changes: they are made once.
#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cpu/lower/lower.h"
#include "posenc/error.h"
#include "posenc/properties.h"
#include "properties/call.h"
#include "properties/input_rows.h"
#include "properties/specimens.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Call;
using properties::Made;

constexpr double kBytes = 4.0;  // of f32

// How many numbers the lists hold together.
double size_of(const auto&... lists) { return (static_cast<double>(lists.size()) + ...); }

// Visits the primitives of one layer. Queries and keys are of one sequence, and every query meets every key: scores_ is
// their number over all heads. Counts are doubles: tokens^2 times channels passes 2^53 for no size that is of use.
class Counter {
 public:
  explicit Counter(const math::Lowered& lowered)
      : heads_(static_cast<double>(lowered.heads)),
        head_dim_(static_cast<double>(lowered.head_dim)),
        value_dim_(static_cast<double>(lowered.value_dim)),
        q_rows_(static_cast<double>(lowered.q_rows)),
        k_rows_(static_cast<double>(lowered.k_rows)),
        scores_(heads_ * q_rows_ * k_rows_) {}

  const Cost& cost() const { return cost_; }

  // tau_i, folded into the scale of the row's queries.
  void query_scale(const QueryScale& scheme) {
    if (std::holds_alternative<std::monostate>(scheme)) return;
    cost_.products += q_rows_;
    cost_.bytes += kBytes * q_rows_;
  }

  // (a c - b s, a s + b c) for each pair of each head of queries and keys, once in each region. c and s are kept; xPos
  // has those of queries and of keys.
  void rotation(const math::Rotation& rotation, const math::RegionList& regions) {
    const double times = std::max(1.0, size_of(regions.regions));
    const double pairs = rotated_pairs(rotation);
    rotate(times * heads_ * (q_rows_ + k_rows_) * pairs);
    cost_.bytes +=
        times * kBytes * 2 * pairs * (rotation.decay.empty() ? std::max(q_rows_, k_rows_) : q_rows_ + k_rows_);
  }

  // One number is looked up and added for each score; WavLM's gate multiplies it first.
  void operator()(const math::DistanceBias& term) {
    cost_.additions += scores_;
    if (!term.row_factor.empty()) cost_.products += scores_;
    cost_.bytes += kBytes * (heads_ * static_cast<double>(term.count) + size_of(term.row_factor));
  }
  // The distance, its product with the slope, the sum.
  void operator()(const math::LinearDistance& term) {
    cost_.additions += 2 * scores_;
    cost_.products += scores_;
    cost_.bytes += kBytes * size_of(term.slopes);
  }
  // numerator times factor; intercept plus slope times that; the sum.
  void operator()(const math::Knots& term) {
    cost_.additions += 2 * scores_;
    cost_.products += 2 * scores_;
    cost_.bytes += kBytes * size_of(term.numerators, term.row_factor, term.edges, term.intercepts, term.slopes);
  }
  // Made as a running sum of the tokens' gates. The part of the row cancels in the softmax.
  void operator()(const math::Column& term) {
    cost_.additions += scores_ + size_of(term.columns);
    cost_.bytes += kBytes * size_of(term.columns);
  }
  // A row's products with the vectors of the distances that it meets, each once; the sum.
  void operator()(const math::QueryDistance& term) {
    const auto count = static_cast<double>(term.vectors.count);
    vectors(q_rows_ * std::min(count, k_rows_), head_dim_);
    cost_.additions += scores_;
    cost_.bytes += kBytes * numbers_of(term.vectors);
    if (!term.given_places.empty()) cost_.bytes += kBytes * numbers_of(term.given);
  }
  void operator()(const math::KeyDistance& term) {
    vectors(k_rows_ * std::min(static_cast<double>(term.vectors.count), q_rows_), head_dim_);
    cost_.additions += scores_;
    cost_.bytes += kBytes * numbers_of(term.vectors);
  }
  // With the vector of each distance, projected once; v's product with it is a bias by distance.
  void operator()(const math::SineDistance& term) {
    const auto count = static_cast<double>(term.high - term.low + 1);
    vectors(q_rows_ * std::min(count, k_rows_), head_dim_);
    cost_.additions += scores_;
    cost_.bytes += kBytes * heads_ * count * head_dim_;
    if (term.added.empty()) return;
    cost_.additions += scores_;
    cost_.bytes += kBytes * heads_ * count;
  }
  // Added to the queries, where keys do not rotate.
  void operator()(const math::KeyVector& term) {
    cost_.additions += heads_ * q_rows_ * head_dim_;
    cost_.bytes += kBytes * size_of(term.vectors);
  }
  void operator()(const math::Label& term) {
    vectors(q_rows_ * 2, head_dim_);
    cost_.additions += scores_;
    cost_.bytes += kBytes * size_of(term.vectors, term.constants);
  }
  // The running sum, two shares, their sum, and that to the score.
  void operator()(const math::Running& term) {
    vectors(q_rows_ * std::min(static_cast<double>(term.count), k_rows_), head_dim_);
    cost_.additions += 3 * scores_;
    cost_.products += 2 * scores_;
    cost_.bytes += kBytes * size_of(term.vectors);
  }

  void values(std::monostate, const std::vector<math::Rotation>&) {}
  // Weights summed by place, and the sums times the table.
  void values(const math::ValueDistance& part, const std::vector<math::Rotation>&) {
    cost_.additions += scores_;
    vectors(q_rows_ * std::min(static_cast<double>(part.count), k_rows_), value_dim_);
    cost_.bytes += kBytes * size_of(part.vectors);
  }
  void values(const math::ValueRotation& part, const std::vector<math::Rotation>& rotations) {
    for (const math::Rotation& rotation : rotations) {
      rotate(heads_ * (k_rows_ + (part.inverse_on_output ? q_rows_ : 0.0)) * rotated_pairs(rotation));
    }
  }

 private:
  // Pairs of frequency 0 stay where they are, unless an attention factor scales them as well.
  static double rotated_pairs(const math::Rotation& rotation) {
    if (rotation.factor != 1.0) return size_of(rotation.inv_freq);
    const auto still = std::count(rotation.inv_freq.begin(), rotation.inv_freq.end(), 0.0);
    return size_of(rotation.inv_freq) - static_cast<double>(still);
  }
  double numbers_of(const math::PlaceVectors& vectors) const {
    return static_cast<double>(vectors.count) * head_dim_ * (vectors.per_head ? heads_ : 1.0);
  }
  // a c - b s and a s + b c: four products, two additions.
  void rotate(double pairs) {
    cost_.additions += 2 * pairs;
    cost_.products += 4 * pairs;
  }
  // So many dot products of each head.
  void vectors(double count, double channels) {
    cost_.additions += heads_ * count * channels;
    cost_.products += heads_ * count * channels;
  }

  double heads_, head_dim_, value_dim_, q_rows_, k_rows_, scores_;
  Cost cost_;
};

// A call with places and gates but without q, k and v, which lowering does not ask for. What the gates are changes no
// count.
Cost cost_of_layer(const Made& made, std::int64_t tokens) {
  const auto places = properties::first_places(tokens);
  const std::vector<double> per_row_and_head(static_cast<std::size_t>(tokens * made->layer.heads), -1.0);
  const Call call{.q_places = places, .k_places = places, .log_forget = per_row_and_head, .row_gate = per_row_and_head};
  LayerPlan layer = made->layer;
  layer.mask.kind = MaskKind::bidirectional;
  const properties::CallInputs inputs(*made, call);
  const math::Lowered lowered = cpu::lower(layer, made->weights, *inputs, {.queries = tokens, .keys = tokens});
  Counter counter(lowered);
  counter.query_scale(layer.query_scale);
  for (const math::Rotation& rotation : lowered.rotations) counter.rotation(rotation, lowered.regions);
  for (const math::Term& term : lowered.terms) std::visit(counter, term);
  std::visit([&](const auto& part) { counter.values(part, lowered.rotations); }, lowered.values);
  return counter.cost();
}

// x + p once, before the first layer.
Cost cost_of_input(const Made& made, std::int64_t tokens) {
  const auto numbers = static_cast<double>(tokens * made->size.channels());
  return {.additions = numbers, .bytes = kBytes * numbers};
}

// Upper limits are the lowering's own.
void check(const char* where, const CostSizes& sizes) {
  const auto require = [&](const char* field, std::int64_t size) {
    if (size < 1) throw Error(where, {field, "be at least 1", std::to_string(size)});
  };
  require("tokens", sizes.tokens);
  require("heads", sizes.heads);
  require("head_dim", sizes.head_dim);
}

}  // namespace

Cost cost(std::string_view scheme, const CostSizes& sizes) {
  check("cost", sizes);
  const Made made(properties::entry("cost", scheme),
                  {.places = sizes.tokens, .heads = sizes.heads, .head_dim = sizes.head_dim});
  Cost out = made->input ? cost_of_input(made, sizes.tokens) : cost_of_layer(made, sizes.tokens);
  out.parameters = static_cast<double>(made.parameters());
  return out;
}

// QK^T and PV: n^2 products of head_dim channels each, for every head, and as many additions.
Cost plain_attention_cost(const CostSizes& sizes) {
  check("plain_attention_cost", sizes);
  const auto n = static_cast<double>(sizes.tokens);
  const auto channels = static_cast<double>(sizes.heads * sizes.head_dim);
  return {.additions = 2 * n * n * channels, .products = 2 * n * n * channels, .bytes = kBytes * 2 * n * channels};
}

}  // namespace posenc::inline v0_2
