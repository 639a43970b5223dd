// Specimens of biases by distance (ALiBi, T5, clipped, windows, KERPLE, FIRE, Sandwich, perceptrons, forget gates) and
// of query scales (Llama 4, Ministral 3, log n), with numbers as models and papers have them.
#include <string>
#include <utility>

#include "base/formatted.h"
#include "properties/specimens.h"

namespace posenc::properties {
namespace {

using MakeTables = std::function<ScoreWeights(const Size&, Tables&)>;

Specimen with_term(const Size& size, const ScoreTerm& term, ScoreWeights weights) {
  Specimen out{.layer = plain_layer(size), .weights = {.score = {std::move(weights)}}};
  out.layer.score = {term};
  return out;
}

Entry of_alibi(std::string name, std::string about, const Alibi& form) {
  return {{std::move(name), Stage::score, std::move(about)}, [=](const Size& size, Tables&) {
            Alibi scheme = form;
            scheme.heads = size.heads;
            return with_term(size, scheme, {});
          }};
}

// A term with learned tables, drawn by `make` at the size that is asked for.
Entry learned(std::string name, std::string about, const ScoreTerm& term, MakeTables make) {
  return {{std::move(name), Stage::score, std::move(about)},
          [=](const Size& size, Tables& tables) { return with_term(size, term, make(size, tables)); }};
}

Entry of_t5(std::string name, std::string about, const T5Bias& scheme) {
  return learned(std::move(name), std::move(about), scheme, [=](const Size& size, Tables& tables) {
    return T5Weights{tables.normal({scheme.buckets, size.heads})};
  });
}

Entry of_query_scale(std::string name, std::string about, const QueryScale& scale) {
  return {{std::move(name), Stage::score, std::move(about)}, [=](const Size& size, Tables&) {
            Specimen out{.layer = plain_layer(size)};
            out.layer.query_scale = scale;
            return out;
          }};
}

}  // namespace

std::vector<Entry> entries_of(Kind<Alibi>) {
  return {of_alibi("alibi", "-slope (i - j)", {}), of_alibi("alibi-symmetric", "-slope |i - j|", {.symmetric = true}),
          of_alibi("alibi-column", "slope j, as BLOOM adds it", {.form = AlibiForm::column}),
          of_alibi("alibi-bfloat16", "slope j in bfloat16, scaled, as Falcon adds it",
                   {.scaled = true, .form = AlibiForm::column_bfloat16})};
}

std::vector<Entry> entries_of(Kind<T5Bias>) {
  return {of_t5("t5", "32 buckets to distance 128, the past only", {}),
          of_t5("t5-bidirectional", "16 buckets each way", {.bidirectional = true}),
          of_t5("t5-gated", "times a number of the query, as WavLM does", {.bidirectional = true, .gated = true})};
}

std::vector<Entry> entries_of(Kind<ClippedBias>) {
  const ClippedBias scheme{.past = 32, .future = 32};
  return {learned("clipped-bias", "32 distances each way", scheme, [=](const Size& size, Tables& tables) {
    return ClippedBiasWeights{tables.normal({scheme.past + scheme.future + 1, size.heads})};
  })};
}

// A Swin window: places lie row by row in a square just large enough for them, and beyond it there is no row.
std::vector<Entry> entries_of(Kind<GridBias>) {
  return {{{"grid-bias", Stage::score, "a square window"}, [](const Size& size, Tables& tables) {
             const std::int64_t side = size.side();
             const std::int64_t rows = (2 * side - 1) * (2 * side - 1);
             Specimen out = with_term(size, GridBias{.rows = side, .columns = side},
                                      GridBiasWeights{tables.normal({rows, size.heads})});
             out.layout = Layout::square;
             out.end = side * side;
             return out;
           }}};
}

std::vector<Entry> entries_of(Kind<Kerple>) {
  // What the paper initialises r1 and r2 between is wide; these are in the middle of what it learns.
  const MakeTables weights = [](const Size& size, Tables& tables) {
    return KerpleWeights{.r1 = tables.between(0.5, 1.5, {size.heads}), .r2 = tables.between(0.5, 1.0, {size.heads})};
  };
  return {learned("kerple", "logarithmic", Kerple{}, weights),
          learned("kerple-power", "power", Kerple{.form = Kerple::Form::power}, weights)};
}

std::vector<Entry> entries_of(Kind<Fire>) {
  constexpr std::int64_t kWidth = 32;  // of the paper
  return {learned("fire", "L is the trained length", Fire{}, [](const Size& size, Tables& tables) {
    return FireWeights{.c = tables.number(1.0),
                       .threshold = tables.number(static_cast<double>(kTrainedPlaces)),
                       .hidden = random_linear(tables, kWidth, 1),
                       .out = random_linear(tables, size.heads, kWidth)};
  })};
}

std::vector<Entry> entries_of(Kind<Sandwich>) {
  return {{{"sandwich", Stage::score, "128 channels of sinusoids"},
           [](const Size& size, Tables&) { return with_term(size, Sandwich{.heads = size.heads}, {}); }}};
}

std::vector<Entry> entries_of(Kind<MlpBias>) {
  constexpr std::int64_t kWidth = 8;
  const MakeTables weights = [](const Size& size, Tables& tables) {
    return MlpBiasWeights{{random_linear(tables, kWidth, 1), random_linear(tables, kWidth, kWidth),
                           random_linear(tables, size.heads, kWidth)}};
  };
  return {learned("mlp-bias", "of i - j", MlpBias{}, weights),
          learned("mlp-bias-logarithmic", "of ln(|i - j| + 1), signed", MlpBias{.logarithmic = true}, weights)};
}

std::vector<Entry> entries_of(Kind<ForgetGate>) {
  return {{{"forget-gate", Stage::score, "gates by token"},
           [](const Size& size, Tables&) { return with_term(size, ForgetGate{}, {}); }}};
}

std::vector<Entry> entries_of(Kind<Llama4Temperature>) {
  return {of_query_scale("query-scales-llama4", formatted("floor scale {}", kTrainedPlaces),
                         Llama4Temperature{.floor_scale = static_cast<double>(kTrainedPlaces)})};
}
std::vector<Entry> entries_of(Kind<MinistralTemperature>) {
  return {of_query_scale("query-scales-ministral", formatted("original length {}", kTrainedPlaces),
                         MinistralTemperature{.original_max_position_embeddings = kTrainedPlaces})};
}
std::vector<Entry> entries_of(Kind<LogNScale>) {
  return {of_query_scale("query-scales-log-n", formatted("sequence length {}", kTrainedPlaces),
                         LogNScale{.seq_length = kTrainedPlaces})};
}

// Of the same kind as the three above; their two figures would say nothing that those do not.
std::vector<Entry> entries_of(Kind<BeamTemperature>) { return {}; }
std::vector<Entry> entries_of(Kind<InklingTemperature>) { return {}; }

// A call brings its numbers: there is nothing of the scheme itself to judge.
std::vector<Entry> entries_of(Kind<DistanceLogits>) { return {}; }

}  // namespace posenc::properties
