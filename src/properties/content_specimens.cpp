// Specimens of score terms in which a query or a key meets a vector of their distance (Shaw, Transformer-XL, XLNet,
// DeBERTa, MViT), or counts what lies between (CoPE), and of the value stage. Learned tables are random.
#include <cmath>
#include <string>
#include <utility>

#include "properties/specimens.h"

namespace posenc::properties {
namespace {

using MakeWeights = std::function<ScoreWeights(const Size&, Tables&)>;

constexpr std::int64_t kClip = 32;  // distances each way

// A layer whose only position scheme is that term, with the tables that `make` draws at the size that is asked for.
Entry of_content(std::string name, std::string about, const ScoreTerm& term, MakeWeights make) {
  return {{std::move(name), Stage::score, std::move(about)},
          [term, make = std::move(make)](const Size& size, Tables& tables) {
            Specimen out{.layer = plain_layer(size), .weights = {.score = {make(size, tables)}}};
            out.layer.score = {term};
            return out;
          }};
}

// W_(k,R) of rows of length 1, for sinusoids, whose channels have a mean square of 1/2: r W is half as large as a key.
TransformerXlWeights transformer_xl_weights(const Size& size, Tables& tables) {
  const double spread = 1 / std::sqrt(static_cast<double>(size.channels()));
  return {.projection = tables.normal({size.channels(), size.channels()}, spread),
          .content_bias = tables.normal({size.heads, size.head_dim}),
          .position_bias = tables.normal({size.heads, size.head_dim})};
}

// `span` is deberta_span(scheme): the table has 2 span rows. The projections are those of positions alone.
Entry of_deberta(std::string name, std::string about, const Deberta& scheme, std::int64_t span) {
  return of_content(std::move(name), std::move(about), scheme, [=](const Size& size, Tables& tables) {
    return DebertaWeights{.table = tables.normal({2 * span, size.channels()}),
                          .keys = random_linear(tables, size.channels(), size.channels()),
                          .queries = random_linear(tables, size.channels(), size.channels())};
  });
}

}  // namespace

std::vector<Entry> entries_of(Kind<ShawKeys>) {
  const ShawKeys scheme{.left = kClip, .right = kClip};
  ShawKeys sines = scheme;
  sines.sinusoidal = true;
  return {of_content("shaw", "32 distances each way", scheme,
                     [](const Size& size, Tables& tables) {
                       return ShawWeights{tables.normal({2 * kClip + 1, size.head_dim})};
                     }),
          of_content("shaw-sinusoidal", "NEZHA: sines, 32 distances each way", sines,
                     [](const Size&, Tables&) { return std::monostate(); })};
}

std::vector<Entry> entries_of(Kind<TransformerXl>) {
  return {of_content("transformer-xl", "with u and v", TransformerXl{}, transformer_xl_weights)};
}

std::vector<Entry> entries_of(Kind<XlNet>) {
  return {of_content("xlnet", "one segment", XlNet{}, [](const Size& size, Tables& tables) {
    return XlNetWeights{.positions = transformer_xl_weights(size, tables),
                        .segment_bias = tables.normal({size.heads, size.head_dim}),
                        .segments = tables.normal({2, size.heads, size.head_dim})};
  })};
}

std::vector<Entry> entries_of(Kind<Deberta>) {
  const Deberta clipped{.max_distance = kClip};
  const Deberta buckets{.buckets = kClip, .max_distance = 2 * kTrainedPlaces};
  return {of_deberta("deberta", "v1: distances below 32 each way", clipped, kClip),
          of_deberta("deberta-v2", "32 logarithmic buckets each way", buckets, kClip)};
}

std::vector<Entry> entries_of(Kind<DecomposedHw>) {
  return {{{"decomposed-hw", Stage::score, "a square window"}, [](const Size& size, Tables& tables) {
             const std::int64_t rows = 2 * size.side() - 1;
             Specimen out{.layer = plain_layer(size), .layout = Layout::square, .end = size.side() * size.side()};
             out.layer.score = {DecomposedHw{.rows = rows}};
             out.weights.score = {DecomposedHwWeights{.rows = tables.normal({rows, size.head_dim}),
                                                      .columns = tables.normal({rows, size.head_dim})}};
             return out;
           }}};
}

std::vector<Entry> entries_of(Kind<ContextualPosition>) {
  return {of_content("contextual-position", "64 rows", ContextualPosition{.positions = kTrainedPlaces},
                     [](const Size& size, Tables& tables) {
                       return CopeWeights{tables.normal({kTrainedPlaces, size.head_dim})};
                     })};
}

std::vector<Entry> entries_of(Kind<ShawValues>) {
  return {{{"shaw-values", Stage::value, "32 distances each way"}, [](const Size& size, Tables& tables) {
             Specimen out{.layer = plain_layer(size)};
             out.layer.value = ShawValues{.left = kClip, .right = kClip};
             out.weights.value = {tables.normal({2 * kClip + 1, size.head_dim})};
             return out;
           }}};
}

std::vector<Entry> entries_of(Kind<RotatedValues>) {
  const auto of_values = [](std::string name, std::string about, bool back) {
    return Entry{{std::move(name), Stage::value, std::move(about)}, [=](const Size& size, Tables&) {
                   Specimen out{.layer = plain_layer(size)};
                   out.layer.rotate = {{.heads = size.heads, .scheme = plain_rope(size)}};
                   out.layer.value = RotatedValues{.inverse_on_output = back};
                   return out;
                 }};
  };
  return {of_values("rotated-values", "RoPE on q, k and v", false),
          of_values("rotated-values-back", "and the output rotated back", true)};
}

}  // namespace posenc::properties
