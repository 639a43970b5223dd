#include "diagnose/attention/tried_biases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <set>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/inner_formats.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

bool has_alibi(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score, [](const ScoreTerm& term) { return std::holds_alternative<Alibi>(term); });
}

template <typename Term, typename Change>
std::optional<LayerPlan> with_term(const LayerPlan& layer, Change change) {
  LayerPlan out = layer;
  for (ScoreTerm& term : out.score) {
    if (auto* of = std::get_if<Term>(&term)) {
      const Term was = *of;
      change(*of);
      if (*of == was) return {};
      return out;
    }
  }
  return {};
}

// ---- T5 ----

// Buckets of a distance by another formula than
//
//   n < e: n;   e + floor(ln(n / e) / ln(far / e) (B - e)), at most B - 1;   e = B / 2, B the buckets of a direction
struct Logarithm {
  double times = 1.0;        // the logarithms are of two bases
  bool rounds = false;       // to nearest
  bool of_distance = false;  // ln(n) / ln(far)
  bool of_all = false;       // B and e of both directions together
  bool none = false;         // n, at most B - 1
};

std::int64_t bucket_of(const T5Bias& of, std::int64_t distance, const Logarithm& by) {
  const std::int64_t half = of.bidirectional ? of.buckets / 2 : of.buckets;
  const std::int64_t each = by.of_all ? of.buckets : half;
  const std::int64_t size = of.bidirectional ? std::abs(distance) : std::max<std::int64_t>(distance, 0);
  const std::int64_t exact = each / 2;
  std::int64_t bucket = size;
  if (!by.none && size >= exact) {
    const auto e = static_cast<double>(exact);
    const auto n = static_cast<double>(size);
    const auto far = static_cast<double>(of.max_distance);
    const double part = by.of_distance ? std::log(n) / std::log(far) : std::log(n / e) / std::log(far / e);
    const double more = by.times * part * static_cast<double>(each - exact);
    bucket = exact + static_cast<std::int64_t>(by.rounds ? std::nearbyint(more) : std::floor(more));
  }
  const std::int64_t from = of.bidirectional && distance < 0 ? half : 0;
  return std::clamp<std::int64_t>(from + std::min(bucket, half - 1), 0, of.buckets - 1);
}

// ---- What is tried ----

// Hypotheses of one layer.
class Biases {
 public:
  Biases(const AttentionDumpArgs& args, const DumpedAttention& dumped, const AttentionTried& plan)
      : args_(args),
        layer_(*args.layer),
        dumped_(dumped),
        plan_(plan),
        fact_(has_alibi(layer_) ? PortFact::slopes : PortFact::buckets) {}

  std::vector<AttentionTried> take() { return std::move(out_); }

  void add_any() {
    add(times(0.0), "no bias", "the layer's bias", "add the bias to the scores before the softmax");
    add(times(-1.0), "the bias with the other sign", "the layer's bias", "add the bias, do not subtract it");
    if (layer_.softmax_scale != 1 && layer_.softmax_scale > 0) {
      add(times(layer_.softmax_scale), "the bias times the softmax scale", "the bias as it is",
          "add the bias after QK^T is scaled");
      add(times(1 / layer_.softmax_scale), "the bias over the softmax scale", "the bias times the scale",
          "add the bias before QK^T is scaled");
    }
    add(of_heads([&](std::size_t h) { return dumped_.heads - 1 - h; }), "heads in reverse",
        "head h has the h-th slope or column", "do not reverse the heads");
    add_at({.times = -1}, "the distance j - i", "the distance is the query's place less the key's");
    add_at({.plus = 1}, "distances one too large", "the distance of a query to its own key is 0");
    add_at({.plus = -1}, "distances one too small", "the distance of a query to its own key is 0");
    if (const std::int64_t cached = dumped_.last_order - (dumped_.all_queries - 1); cached > 0) {
      add_at({.plus = -cached}, "distances of queries counted from 0, as if nothing were cached",
             formatted("the first query stands at {}", cached));
    }
  }

  // In a short format, though the scores that they are added to are finer.
  void add_rounded() {
    for (const InnerFormat& format : kInnerFormats) {
      if (format.products_alone || format.unit <= std::max(dumped_.unit, dumped_.scores_unit)) continue;
      const auto round = [&](double x) { return rounded_to(format.format, x); };
      const auto with = [&](Scores bias, const char* of) {
        if (bias == *plan_.bias) return;
        AttentionTried tried = plan_;
        tried.bias = kept(std::move(bias));
        out_.push_back(changed(std::move(tried), {PortFact::precision, formatted("{} in {}", of, format.name),
                                                  "float32 or better", "make the bias in float32"}));
      };
      Scores each = *plan_.bias;
      for (double& x : each) x = round(x);
      with(std::move(each), "the bias");
      const Alibi* const alibi = layer_.score.size() == 1 ? std::get_if<Alibi>(&layer_.score.front()) : nullptr;
      if (alibi == nullptr || alibi->symmetric || alibi->form == AlibiForm::column_bfloat16) continue;
      // -slope (i - j) of a slope that was rounded; slope j, the same to the softmax, where the product is rounded.
      Scores of_slopes(plan_.bias->size());
      Scores of_columns(plan_.bias->size());
      for (std::size_t n = 0; n < of_slopes.size(); ++n) {
        const std::size_t h = n / (dumped_.queries * dumped_.keys);
        const std::int64_t place = dumped_.k_order[n % dumped_.keys];
        const auto back = static_cast<double>(dumped_.q_order[n / dumped_.keys % dumped_.queries] - place);
        of_slopes[n] = -round(slope(h)) * back;
        of_columns[n] = round(slope(h) * static_cast<double>(place));
      }
      with(std::move(of_slopes), "slopes");
      with(std::move(of_columns), "slopes times places");
    }
  }

  void add_alibi() {
    const auto other = [&](auto change, const std::string& found, const std::string& expected) {
      add_other(with_term<Alibi>(layer_, change), found, expected);
    };
    other([](Alibi& of) { of.geometric_slopes = !of.geometric_slopes; },
          "slopes of another rule for a number of heads that is no power of two", "the slopes of the plan's rule");
    other([](Alibi& of) { of.symmetric = !of.symmetric; }, "the other form for keys after the query",
          "the plan's form, by i - j or by its size");
    other([](Alibi& of) { of.max_bias = of.max_bias == 4 ? 8 : 4; }, "slopes from another exponent (alibi_bias_max)",
          "the plan's alibi_bias_max");
    for (std::int64_t ranks = 2; ranks <= 8 && layer_.heads / ranks >= 1; ++ranks) {
      if (layer_.heads % ranks == 0 && layer_.score.size() == 1) add_shared_out(ranks);
    }
    // 2^(-8 h / heads) from h = 0 on: the first slope is 1. By the plan's rule, and by one for any number of heads.
    const auto geometric = with_term<Alibi>(layer_, [](Alibi& of) { of.geometric_slopes = true; });
    for (const Scores& of : {*plan_.bias, geometric ? bias_scores(*geometric, args_, dumped_) : Scores{}}) {
      Scores bias = of;
      for (double& x : bias) x *= std::exp2(8.0 / static_cast<double>(dumped_.heads));
      if (bias.empty()) continue;
      add(std::move(bias), "slopes that start one head too early: the first is 1", "the plan's slopes",
          "the slope of head h, counted from 0, is 2^(-8 (h + 1) / heads)");
    }
  }

  void add_t5() {
    const auto other = [&](auto change, const std::string& found, const std::string& expected) {
      add_other(with_term<T5Bias>(layer_, change), found, expected);
    };
    for (const ScoreTerm& term : layer_.score) {
      const auto* own = std::get_if<T5Bias>(&term);
      if (own == nullptr) continue;
      other([](T5Bias& of) { of.bidirectional = !of.bidirectional; },
            own->bidirectional ? "buckets of one direction" : "buckets of both directions",
            own->bidirectional ? "buckets of both directions" : "buckets of one direction");
      for (const std::int64_t far :
           std::set<std::int64_t>{20, 32, 64, 128, 256, 2 * own->max_distance, own->max_distance / 2}) {
        if (far <= own->buckets / 2 || far == own->max_distance) continue;
        other([far](T5Bias& of) { of.max_distance = far; }, formatted("buckets up to distance {}", far),
              formatted("buckets up to distance {}", own->max_distance));
      }
    }
    if (const auto table = t5_table(args_, dumped_)) add_formulas(*table);
  }

 private:
  void add(Scores bias, std::string found, std::string expected, std::string mend) {
    AttentionTried tried = plan_;
    tried.bias = kept(std::move(bias));
    out_.push_back(changed(std::move(tried), {fact_, std::move(found), std::move(expected), std::move(mend)}));
  }
  void add_at(BiasPlaces places, std::string found, std::string mend) {
    add(bias_scores(layer_, args_, dumped_, places), std::move(found), "the distance i - j", std::move(mend));
  }
  void add_other(const std::optional<LayerPlan>& other, std::string found, const std::string& expected) {
    if (other) add(bias_scores(*other, args_, dumped_), std::move(found), expected, formatted("take {}", expected));
  }

  Scores times(double by) const {
    Scores out = *plan_.bias;
    for (double& x : out) x *= by;
    return out;
  }
  // The plan's bias of head `head(h)` in head h.
  template <typename Head>
  Scores of_heads(Head head) const {
    return bias_of_heads(*plan_.bias, dumped_, head);
  }

  // Of the plan's bias, which is straight in the key's place.
  double slope(std::size_t h) const {
    if (dumped_.keys < 2) return 0.0;
    const double* const row = plan_.bias->data() + dumped_.at(h, 0, 0);
    return (row[1] - row[0]) / static_cast<double>(dumped_.k_order[1] - dumped_.k_order[0]);
  }

  // Heads shared out, each part with the slopes of as many heads as it has.
  void add_shared_out(std::int64_t ranks) {
    const std::int64_t part = layer_.heads / ranks;
    Alibi of = std::get<Alibi>(layer_.score.front());
    of.heads = part;
    LayerPlan other = layer_;
    other.heads = part;
    other.kv_heads = part;
    other.score.front() = of;
    DumpedAttention few = dumped_;
    few.heads = few.kv_heads = static_cast<std::size_t>(part);
    few.q.assign(few.queries * few.heads * few.head_dim, 0.0);
    few.k.assign(few.keys * few.heads * few.head_dim, 0.0);
    const Scores one = bias_scores(other, args_, few);
    Scores all;
    for (std::int64_t n = 0; n < ranks; ++n) all.insert(all.end(), one.begin(), one.end());
    add(std::move(all), formatted("the slopes of {} heads, {} times", part, ranks),
        formatted("the slopes of {} heads", layer_.heads),
        "make the slopes of all heads of the layer, and take those of the heads that are here");
  }

  void add_formulas(const T5Table& table) {
    struct Formula {
      const char* found;
      Logarithm by;
    };
    using std::numbers::ln10;
    using std::numbers::ln2;
    const std::array<Formula, 10> formulas{
        Formula{"buckets without a logarithm: one for each distance, the last for all beyond", {.none = true}},
        {"buckets whose logarithm is rounded to the nearest one", {.rounds = true}},
        {"buckets by ln(n) / ln(max_distance)", {.of_distance = true}},
        {"buckets by the logarithm of both directions' number of buckets", {.of_all = true}},
        {"buckets by log10 over ln", {.times = 1 / ln10}},
        {"buckets by ln over log10", {.times = ln10}},
        {"buckets by log2 over ln", {.times = 1 / ln2}},
        {"buckets by ln over log2", {.times = ln2}},
        {"buckets by log2 over log10", {.times = ln10 / ln2}},
        {"buckets by log10 over log2", {.times = ln2 / ln10}}};
    for (const Formula& one : formulas) {
      if (one.by.of_all && !table.of.bidirectional) continue;
      add(by_bucket(table, dumped_, [&](std::int64_t distance) { return bucket_of(table.of, distance, one.by); }),
          one.found, "half of the buckets exact, the others logarithmic",
          "e + ln(n / e) / ln(max_distance / e) (B - e), rounded down, e half of the B buckets of a direction");
    }
    // The numbers as they lie in memory, read as [heads, buckets].
    T5Table transposed = table;
    const auto buckets = static_cast<std::size_t>(table.of.buckets);
    for (std::size_t n = 0; n < transposed.table.size(); ++n) {
      transposed.table[n] = table.table[n % table.heads * buckets + n / table.heads];
    }
    add(by_bucket(transposed, dumped_, [&](std::int64_t distance) { return bucket_of(table.of, distance, {}); }),
        "the table read as [heads, buckets]", "[buckets, heads]", "transpose the table, do not reshape it");
  }

  const AttentionDumpArgs& args_;
  const LayerPlan& layer_;
  const DumpedAttention& dumped_;
  const AttentionTried& plan_;
  PortFact fact_;
  std::vector<AttentionTried> out_;
};

}  // namespace

std::optional<T5Table> t5_table(const AttentionDumpArgs& args, const DumpedAttention& dumped) {
  const LayerPlan& layer = *args.layer;
  const auto* own = layer.score.size() == 1 ? std::get_if<T5Bias>(&layer.score.front()) : nullptr;
  if (own == nullptr || own->gated || own->axis != 0 || args.learned.score.size() != 1) return {};
  const auto* weights = std::get_if<T5Weights>(&args.learned.score.front());
  if (weights == nullptr || weights->table.rank != 2) return {};
  T5Table out{.of = *own, .table = {}, .heads = dumped.heads};
  for (std::int64_t bucket = 0; bucket < own->buckets; ++bucket) {
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      const double x = reference::read(weights->table, bucket * weights->table.strides[0] +
                                                           static_cast<std::int64_t>(h) * weights->table.strides[1]);
      out.table.push_back(own->scaled ? layer.softmax_scale * x : x);
    }
  }
  return out;
}

std::vector<AttentionTried> tried_biases(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                         const AttentionTried& plan) {
  if (args.layer->score.empty()) return {};
  Biases biases(args, dumped, plan);
  biases.add_any();
  biases.add_rounded();
  if (has_alibi(*args.layer)) {
    biases.add_alibi();
  } else {
    biases.add_t5();
  }
  return biases.take();
}

}  // namespace posenc::inline v0_2::port
