// Score terms and Shaw's values, with weights of their own.
#include "support/all_schemes.h"

namespace posenc::test {
namespace {

constexpr std::int64_t kChannels = 10;  // of embeddings before a projection
constexpr std::int64_t kSide = 16;      // of a window: as many rows and columns

template <typename Weights>
SchemeCase learned(std::string name, const ScoreTerm& term, std::function<Weights(Tables&)> make) {
  return {.name = std::move(name), .layer = with_term(term), .weights = of_term(std::move(make))};
}

Linear linear(Tables& tables, std::int64_t outputs, std::int64_t inputs) {
  return {.weight = tables({outputs, inputs}, 0.5), .bias = tables({outputs}, 0.5)};
}

TransformerXlWeights transformer_xl_weights(Tables& tables, bool content_bias, bool position_bias) {
  TransformerXlWeights out{.projection = tables({kHeads * kHeadDim, kChannels}, 0.3)};
  if (content_bias) out.content_bias = tables({kHeads, kHeadDim});
  if (position_bias) out.position_bias = tables({kHeads, kHeadDim});
  return out;
}

SchemeCase deberta(std::string name, const Deberta& scheme, std::int64_t span) {
  return learned<DebertaWeights>(std::move(name), scheme, [=](Tables& tables) {
    return DebertaWeights{.table = tables({2 * span, kChannels}, 0.5),
                          .keys = linear(tables, kHeads * kHeadDim, kChannels),
                          .queries = linear(tables, kHeads * kHeadDim, kChannels)};
  });
}

SchemeCase transformer_xl(std::string name, const TransformerXl& scheme) {
  return learned<TransformerXlWeights>(std::move(name), scheme, [=](Tables& tables) {
    return transformer_xl_weights(tables, scheme.content_bias, scheme.position_bias);
  });
}

SchemeCase in_window(SchemeCase made) {
  made.side = kSide;
  return made;
}

}  // namespace

// A column is the relative form and a number of the row, until it is rounded.
std::vector<SchemeCase> cases_of(Case<Alibi>) {
  std::vector<SchemeCase> out;
  for (const auto& [name, scheme] : {
           std::pair("ALiBi", Alibi{.heads = kHeads}),
           std::pair("symmetric ALiBi", Alibi{.heads = kHeads, .symmetric = true}),
           std::pair("BLOOM's ALiBi", Alibi{.heads = kHeads, .form = AlibiForm::column}),
           std::pair("Falcon's ALiBi", Alibi{.heads = kHeads, .scaled = true, .form = AlibiForm::column_bfloat16}),
           std::pair("scaled ALiBi", Alibi{.heads = kHeads, .max_bias = 4.0, .scaled = true}),
       }) {
    const bool is_rounded = scheme.form == AlibiForm::column_bfloat16;
    out.push_back({.name = name, .layer = with_term(scheme), .real = true, .period = is_rounded ? 0 : 1});
  }
  return out;
}

std::vector<SchemeCase> cases_of(Case<T5Bias>) {
  std::vector<SchemeCase> out;
  for (const bool bidirectional : {false, true}) {
    for (const bool gated : {false, true}) {
      const T5Bias scheme{.buckets = 12, .max_distance = 20, .bidirectional = bidirectional, .gated = gated};
      out.push_back(learned<T5Weights>("T5", scheme, [](Tables& tables) { return T5Weights{tables({12, kHeads})}; }));
    }
  }
  const T5Bias across{.buckets = 12, .max_distance = 20, .bidirectional = true, .axis = 2};
  out.push_back(learned<T5Weights>("T5, third axis", across, [](Tables& tables) {
    return T5Weights{tables({12, kHeads})};
  }));
  return out;
}

std::vector<SchemeCase> cases_of(Case<ClippedBias>) {
  return {learned<ClippedBiasWeights>("clipped", ClippedBias{.past = 5, .future = 3}, [](Tables& tables) {
    return ClippedBiasWeights{tables({9, kHeads})};
  })};
}

std::vector<SchemeCase> cases_of(Case<GridBias>) {
  return {
      in_window(learned<GridBiasWeights>("window", GridBias{.rows = kSide, .columns = kSide + 2}, [](Tables& tables) {
        return GridBiasWeights{tables({(2 * kSide - 1) * (2 * kSide + 3), kHeads})};
      }))};
}

std::vector<SchemeCase> cases_of(Case<Kerple>) {
  std::vector<SchemeCase> out;
  for (const Kerple::Form form : {Kerple::Form::logarithmic, Kerple::Form::power}) {
    out.push_back(learned<KerpleWeights>("KERPLE", Kerple{.form = form}, [](Tables& tables) {
      return KerpleWeights{.r1 = tables.between(0.1, 1.0, {kHeads}), .r2 = tables.between(0.1, 0.8, {kHeads})};
    }));
  }
  return out;
}

// Beyond the threshold a distance counts the less, the later the query.
std::vector<SchemeCase> cases_of(Case<Fire>) {
  std::vector<SchemeCase> out{learned<FireWeights>("FIRE", Fire{}, [](Tables& tables) {
    return FireWeights{.c = 0.7, .threshold = 6.0, .hidden = linear(tables, 12, 1), .out = linear(tables, kHeads, 12)};
  })};
  out.back().period = 0;
  return out;
}

std::vector<SchemeCase> cases_of(Case<Sandwich>) {
  return {{.name = "Sandwich", .layer = with_term(Sandwich{.heads = kHeads, .channels = 16})}};
}

std::vector<SchemeCase> cases_of(Case<MlpBias>) {
  std::vector<SchemeCase> out;
  for (const bool logarithmic : {false, true}) {
    out.push_back(learned<MlpBiasWeights>("perceptron", MlpBias{.logarithmic = logarithmic}, [](Tables& tables) {
      return MlpBiasWeights{{linear(tables, 5, 1), linear(tables, 7, 5), linear(tables, kHeads, 7)}};
    }));
  }
  return out;
}

std::vector<SchemeCase> cases_of(Case<ShawKeys>) {
  const ShawKeys scheme{.left = 5, .right = 2};
  std::vector<SchemeCase> out{learned<ShawWeights>("Shaw's keys", scheme,
                                                   [](Tables& tables) {
                                                     return ShawWeights{tables({8, kHeadDim})};
                                                   }),
                              learned<ShawWeights>("Shaw's keys per head", scheme, [](Tables& tables) {
                                return ShawWeights{tables({kHeads, 8, kHeadDim})};
                              })};
  for (const bool per_head : {false, true}) {
    out.push_back(learned<ShawWeights>(
        "Shaw's keys, asked by both", ShawKeys{.left = 5, .right = 2, .by_keys = true}, [=](Tables& tables) {
          return ShawWeights{per_head ? tables({kHeads, 8, kHeadDim}) : tables({8, kHeadDim})};
        }));
  }
  SchemeCase nezha{.name = "NEZHA", .layer = with_term(ShawKeys{.left = 5, .right = 2, .sinusoidal = true})};
  nezha.layer.value = ShawValues{.left = 5, .right = 2, .sinusoidal = true};
  out.push_back(std::move(nezha));
  return out;
}

std::vector<SchemeCase> cases_of(Case<TransformerXl>) {
  const auto with_table = [](std::string name, const TransformerXl& scheme, std::int64_t rows) {
    return learned<TransformerXlWeights>(std::move(name), scheme, [=](Tables& tables) {
      TransformerXlWeights out = transformer_xl_weights(tables, scheme.content_bias, scheme.position_bias);
      out.table = tables({rows, kChannels});
      return out;
    });
  };
  return {transformer_xl("Transformer-XL", {}),
          transformer_xl("Transformer-XL clamped", {.clamp_length = 4}),
          transformer_xl("Transformer-XL without u", {.content_bias = false}),
          transformer_xl("Transformer-XL without v", {.position_bias = false}),
          transformer_xl("rows for some distances", {.clamp_length = 5, .distances = Distances{-1, 6}}),
          with_table("learned rows, clamped", {.clamp_length = 4}, 9),
          with_table("learned rows for some distances", {.distances = Distances{-1, 6}}, 8),
          with_table("learned rows of the past without v",
                     {.clamp_length = 5, .position_bias = false, .distances = Distances{2, 7}}, 6)};
}

std::vector<SchemeCase> cases_of(Case<XlNet>) {
  const auto weights = [](bool segments) {
    return [=](Tables& tables) {
      XlNetWeights out{.positions = transformer_xl_weights(tables, true, true)};
      if (segments) {
        out.segment_bias = tables({kHeads, kHeadDim});
        out.segments = tables({2, kHeads, kHeadDim});
      }
      return out;
    };
  };
  std::vector<SchemeCase> out{
      learned<XlNetWeights>("XLNet", XlNet{}, weights(true)),
      learned<XlNetWeights>("XLNet without segments", XlNet{.clamp_length = 6}, weights(false)),
      learned<XlNetWeights>("XLNet with learned rows", XlNet{.clamp_length = 6},
                            [=](Tables& tables) {
                              XlNetWeights of_rows = weights(true)(tables);
                              of_rows.positions.table = tables({13, kChannels});
                              return of_rows;
                            }),
      learned<XlNetWeights>("XLNet both ways", XlNet{.bidirectional_data = true}, weights(true))};
  out.back().batches_only = true;
  return out;
}

std::vector<SchemeCase> cases_of(Case<Deberta>) {
  const Deberta logarithmic{.buckets = 6, .max_distance = 12};
  Deberta all = logarithmic;
  all.position_to_position = true;
  Deberta none_of_keys = logarithmic;
  none_of_keys.content_to_position = false;
  Deberta none_of_queries = logarithmic;
  none_of_queries.position_to_content = false;
  return {deberta("DeBERTa 1", {.max_distance = 5}, 5),
          deberta("DeBERTa 2", logarithmic, 6),
          deberta("DeBERTa, odd buckets", {.buckets = 7, .max_distance = 12}, 7),
          deberta("DeBERTa, position to position", all, 6),
          deberta("DeBERTa without c2p", none_of_keys, 6),
          deberta("DeBERTa without p2c", none_of_queries, 6)};
}

std::vector<SchemeCase> cases_of(Case<DecomposedHw>) {
  constexpr std::int64_t rows = 2 * kSide - 1;
  return {in_window(learned<DecomposedHwWeights>("rows and columns", DecomposedHw{.rows = rows}, [](Tables& tables) {
    return DecomposedHwWeights{.rows = tables({rows, kHeadDim}), .columns = tables({rows, kHeadDim})};
  }))};
}

std::vector<SchemeCase> cases_of(Case<ContextualPosition>) {
  const auto weights = [](std::int64_t positions) {
    return [=](Tables& tables) { return CopeWeights{tables({positions, kHeadDim})}; };
  };
  return {learned<CopeWeights>("CoPE", ContextualPosition{.positions = 32}, weights(32)),
          learned<CopeWeights>("CoPE, few positions", ContextualPosition{.positions = 3}, weights(3)),
          learned<CopeWeights>("CoPE, one position", ContextualPosition{.positions = 1}, weights(1))};
}

std::vector<SchemeCase> cases_of(Case<ForgetGate>) {
  return {{.name = "forget gates", .layer = with_term(ForgetGate{}), .real = true}};
}

std::vector<SchemeCase> cases_of(Case<DistanceLogits>) { return {}; }

std::vector<SchemeCase> cases_of(Case<ShawValues>) {
  std::vector<SchemeCase> out;
  for (const bool per_head : {false, true}) {
    SchemeCase& one = out.emplace_back(SchemeCase{.name = "Shaw's values", .layer = plain_layer()});
    one.layer.value = ShawValues{.left = 5, .right = 2};
    one.weights = [=](Tables& tables) {
      return LayerWeights{.value = {per_head ? tables({kHeads, 8, kValueDim}) : tables({8, kValueDim})}};
    };
  }
  return out;
}

std::vector<SchemeCase> layers_of_several() {
  std::vector<SchemeCase> out;
  for (const SoftCap::Order order : {SoftCap::Order::after_bias, SoftCap::Order::before_bias}) {
    SchemeCase& one = out.emplace_back(cases_of(Case<ContextualPosition>{}).front());
    one.name = "a cap, sinks, and six terms";
    one.layer.rotate = with_rotation(half_rope()).rotate;
    one.layer.soft_cap = SoftCap{.cap = 2.0, .order = order};
    one.layer.sinks = true;
    one.layer.score = {ContextualPosition{.positions = 5},
                       Alibi{.heads = kHeads, .scaled = true},
                       ForgetGate{},
                       TransformerXl{},
                       ShawKeys{.left = 2, .right = 2},
                       Kerple{}};
    one.layer.value = ShawValues{.left = 1, .right = 1};
    one.weights = [](Tables& tables) {
      const KerpleWeights kerple{.r1 = tables.between(0.1, 1.0, {kHeads}), .r2 = tables.between(0.1, 1.0, {kHeads})};
      return LayerWeights{
          .score = {CopeWeights{tables({5, kHeadDim})}, std::monostate{}, std::monostate{},
                    transformer_xl_weights(tables, true, true), ShawWeights{tables({5, kHeadDim})}, kerple},
          .value = {tables({3, kValueDim})},
          .sinks = tables({kHeads})};
    };
  }
  return out;
}

}  // namespace posenc::test
