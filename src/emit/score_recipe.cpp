// Scores of a layer as a recipe: biases by distance, the scale of queries by position, soft cap and sinks. The formulas
// are those of src/math/score, which says what implementations in the wild do otherwise.
//
// What needs more than a function of head, query's position and key's position is refused by name.
#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "emit/recipe.h"
#include "posenc/scores.h"

namespace posenc::code {
namespace {

Expr real_constant(const char* constant_name) { return constant(constant_name, Type::real); }
Expr whole_constant(const char* constant_name) { return constant(constant_name, Type::whole); }

// A bias is a function of these and of the tables that it reads.
const Expr kHead = name("h", Type::whole);
const Expr kQuery = name("i", Type::whole);
const Expr kKey = name("j", Type::whole);

struct Scores {
  Recipe& recipe;
  const LayerPlan& layer;
  const Sources& sources;
  std::size_t term = 0;  // of layer.score

  std::string from(const char* field) const { return sources(formatted("score/{}/{}", term, field)); }
  void add(const char* constant_name, double value, std::string note) const {
    recipe.constants.push_back({constant_name, value, std::move(note)});
  }
  void add_count(const char* constant_name, std::int64_t value, std::string note) const {
    recipe.constants.push_back({constant_name, value, std::move(note)});
  }
  // Golden vectors number the terms where there are several.
  void table(const char* table_name, const char* shape, const char* comment, const char* golden = "table") const {
    const std::string number = layer.score.size() > 1 ? formatted("{}.", term) : "";
    recipe.tables.push_back({.name = table_name, .shape = shape, .comment = comment, .golden = number + golden});
  }
  Parameter of_table(const char* table_name) const { return {table_name, Type::real, From::table}; }
  std::vector<Parameter> places(std::int64_t axis = 0) const {
    return {{"h", Type::whole, From::head},
            {"i", Type::whole, From::q_position, axis},
            {"j", Type::whole, From::k_position, axis}};
  }
  void bias(Function function, std::string fact) const {
    recipe.biases.push_back(std::move(function));
    recipe.facts.emplace_back("bias", std::move(fact));
  }
};

Expr scaled_if(bool is_scaled, Expr bias) {
  return is_scaled ? real_constant("softmax_scale") * std::move(bias) : std::move(bias);
}

// ---- by distance ----

void score(const Alibi& scheme, Scores& s) {
  if (scheme.heads != s.layer.heads) {
    refuse("ALiBi", formatted("it has slopes for {} heads and the layer {}", scheme.heads, s.layer.heads));
  }
  static_cast<void>(alibi_slopes(scheme));  // throws for what has none
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(scheme.heads)));
  const std::int64_t count = scheme.geometric_slopes ? scheme.heads : below;
  s.add("max_bias", scheme.max_bias, s.from("max_bias"));
  Function slope{.name = "alibi_slope",
                 .comment = "Of the heads: 2^(-MAX_BIAS k / n), k from 1 to n.",
                 .parameters = {{"h", Type::whole, From::head}},
                 .result = power(real(2.0), -real_constant("max_bias") * (kHead + whole(1)) / whole(count))};
  if (count != scheme.heads) {
    slope.comment =
        formatted("Of {} heads, which are no power of two: those of {}, then every other one of those of {}.",
                  scheme.heads, count, 2 * count);
    slope.result = choose(kHead < whole(count), slope.result,
                          power(real(2.0), -real_constant("max_bias") * (whole(2) * (kHead - whole(count)) + whole(1)) /
                                               whole(2 * count)));
  }
  s.recipe.helpers.push_back(std::move(slope));
  const Expr of_head = call("alibi_slope", Type::real, {kHead});
  Function bias{.name = "alibi", .parameters = s.places()};
  switch (scheme.form) {
    case AlibiForm::relative:
      bias.comment = "ALiBi, arXiv 2108.12409: the farther the key, the less it weighs.";
      bias.result = -of_head * (scheme.symmetric ? absolute(kQuery - kKey) : kQuery - kKey);
      break;
    case AlibiForm::column:
      bias.comment = "ALiBi, arXiv 2108.12409, as BLOOM has it: the same to the softmax as -slope (i - j).";
      bias.parameters.erase(bias.parameters.begin() + 1);
      bias.result = of_head * kKey;
      break;
    case AlibiForm::column_bfloat16:
      bias.comment = "ALiBi, arXiv 2108.12409, as Falcon has it: slope, position and product are rounded to bfloat16.";
      bias.parameters.erase(bias.parameters.begin() + 1);
      bias.result = rounded_bfloat16(rounded_bfloat16(of_head) * rounded_bfloat16(single(kKey)));
      break;
  }
  bias.result = scaled_if(scheme.scaled, std::move(bias.result));
  s.bias(std::move(bias), formatted("ALiBi{}{}, slopes from 2^({} / n) down", scheme.symmetric ? ", symmetric" : "",
                                    scheme.scaled ? ", times the softmax scale" : "", -scheme.max_bias));
}

void score(const T5Bias& scheme, Scores& s) {
  if (scheme.gated) refuse("T5's bias with a gate", "the gate is made of hidden states, which attention does not see");
  static_cast<void>(t5_bucket(scheme, 0));  // throws for numbers that mean nothing
  const std::int64_t side = scheme.bidirectional ? scheme.buckets / 2 : scheme.buckets;
  s.add_count("buckets", side, s.from("buckets") + (scheme.bidirectional ? ": half of them, for each direction" : ""));
  s.add_count("exact_buckets", side / 2, "distances below this have a bucket each");
  s.add("log_span", std::log(static_cast<double>(scheme.max_distance) / static_cast<double>(side / 2)),
        formatted("ln({} / {}), the largest distance: {}", scheme.max_distance, side / 2, s.from("max_distance")));
  const Expr distance = name("distance", Type::whole);
  const Expr r = name("r", Type::whole);
  const Expr exact = whole_constant("exact_buckets");
  const Expr buckets = whole_constant("buckets");
  Function bucket{.name = "t5_bucket",
                  .comment =
                      "T5, arXiv 1910.10683: near distances i - j have a bucket each, far ones share them by "
                      "the logarithm, taken in float32.",
                  .parameters = {{"distance", Type::whole}}};
  bucket.lets.push_back({"r", scheme.bidirectional ? absolute(distance) : larger(distance, whole(0))});
  bucket.lets.push_back({"place", logarithm(single(larger(r, whole(1))) / single(exact)) /
                                      single(real_constant("log_span")) * single(buckets - exact)});
  bucket.lets.push_back(
      {"row", choose(r < exact, r, smaller(buckets - whole(1), exact + truncated(name("place", Type::real))))});
  bucket.result = name("row", Type::whole);
  if (scheme.bidirectional) {
    bucket.comment += " Keys in the future have the upper half.";
    bucket.result = choose(distance < whole(0), buckets, whole(0)) + bucket.result;
  }
  s.recipe.helpers.push_back(std::move(bucket));
  s.table("t5_table", "[buckets, heads]", "the learned relative_attention_bias");
  std::vector<Parameter> parameters = s.places(scheme.axis);
  parameters.insert(parameters.begin(), s.of_table("t5_table"));
  s.bias({.name = "t5_bias",
          .comment = "A learned number for each bucket and head.",
          .parameters = std::move(parameters),
          .result = scaled_if(scheme.scaled, element("t5_table", call("t5_bucket", Type::whole, {kQuery - kKey}), kHead,
                                                     s.layer.heads))},
         formatted("T5's, {} buckets to distance {}{}{}", scheme.buckets, scheme.max_distance,
                   scheme.bidirectional ? ", bidirectional" : "", scheme.scaled ? ", times the softmax scale" : ""));
}

void score(const ClippedBias& scheme, Scores& s) {
  s.add_count("past", scheme.past, s.from("past"));
  s.add_count("future", scheme.future, s.from("future"));
  s.table("distance_table", "[PAST + FUTURE + 1, heads]", "a learned number for each distance, -FUTURE first");
  std::vector<Parameter> parameters = s.places();
  parameters.insert(parameters.begin(), s.of_table("distance_table"));
  const Expr clipped = smaller(larger(kQuery - kKey, -whole_constant("future")), whole_constant("past"));
  s.bias({.name = "distance_bias",
          .comment = "A learned number for each head and distance i - j, clipped to [-FUTURE, PAST].",
          .parameters = std::move(parameters),
          .lets = {{"clipped", clipped}},
          .result =
              element("distance_table", name("clipped", Type::whole) + whole_constant("future"), kHead, s.layer.heads)},
         "learned, by clipped distance");
}

void score(const GridBias& scheme, Scores& s) {
  s.add_count("window_rows", scheme.rows, s.from("rows"));
  s.add_count("window_columns", scheme.columns, s.from("columns"));
  s.table("window_table", "[(2 WINDOW_ROWS - 1) (2 WINDOW_COLUMNS - 1), heads]",
          "a learned number for each difference of rows and of columns");
  const Expr rows = whole_constant("window_rows");
  const Expr columns = whole_constant("window_columns");
  const Expr down = name("down", Type::whole);
  const Expr across = name("across", Type::whole);
  s.bias({.name = "window_bias",
          .comment = "Swin, arXiv 2103.14030: tokens stand in a window of rows (coordinate 0) and columns (1).",
          .parameters = {s.of_table("window_table"),
                         {"h", Type::whole, From::head},
                         {"i_row", Type::whole, From::q_position, 0},
                         {"j_row", Type::whole, From::k_position, 0},
                         {"i_column", Type::whole, From::q_position, 1},
                         {"j_column", Type::whole, From::k_position, 1}},
          .lets = {{"down", name("i_row", Type::whole) - name("j_row", Type::whole) + (rows - whole(1))},
                   {"across", name("i_column", Type::whole) - name("j_column", Type::whole) + (columns - whole(1))}},
          .result = element("window_table", down * (whole(2) * columns - whole(1)) + across, kHead, s.layer.heads)},
         "learned, by the difference of both coordinates");
}

void score(const Kerple& scheme, Scores& s) {
  s.table("r1", "[heads]", "KERPLE's, at least 0", "r1");
  s.table("r2", "[heads]", "KERPLE's, at least 0", "r2");
  std::vector<Parameter> parameters = s.places();
  parameters.insert(parameters.begin(), {s.of_table("r1"), s.of_table("r2")});
  const Expr distance = absolute(kQuery - kKey);
  const Expr r1 = element("r1", kHead);
  const Expr r2 = element("r2", kHead);
  const bool is_log = scheme.form == Kerple::Form::logarithmic;
  s.bias({.name = "kerple",
          .comment = std::string("KERPLE, arXiv 2205.09921, ") + (is_log ? "(4)." : "(5)."),
          .parameters = std::move(parameters),
          .result = is_log ? -r1 * logarithm_1p(r2 * distance) : -r1 * power(distance, r2)},
         is_log ? "KERPLE, logarithmic" : "KERPLE, power");
}

void score(const Fire&, Scores&) { refuse("FIRE", "the width of its perceptron stands in its weights alone"); }

void score(const Sandwich&, Scores&) { refuse("Sandwich", "its sum over the sinusoids' channels is not written yet"); }

void score(const MlpBias&, Scores&) {
  refuse("a perceptron of the distance", "its layers and their widths stand in its weights alone");
}

// ---- by content ----

void score(const ShawKeys&, Scores&) {
  refuse("Shaw's relative keys", "products of queries with rows by distance are not written yet");
}
void score(const TransformerXl&, Scores&) {
  refuse("Transformer-XL's scores", "products of queries with projected sinusoids are not written yet");
}
void score(const XlNet&, Scores&) {
  refuse("XLNet's scores", "products of queries with projected sinusoids are not written yet");
}
void score(const Deberta&, Scores&) {
  refuse("DeBERTa's scores", "products of queries and keys with projected rows are not written yet");
}
void score(const DecomposedHw&, Scores&) {
  refuse("decomposed relative positions", "products of queries with rows by distance are not written yet");
}

// ---- along the row ----

void score(const ContextualPosition&, Scores&) {
  refuse("CoPE", "its positions are sums over scores along the row, which are not written yet");
}
void score(const ForgetGate&, Scores&) {
  refuse("forget gates", "they are made of hidden states, which attention does not see");
}
void score(const DistanceLogits&, Scores&) {
  refuse("logits by distance", "they are made of hidden states, which attention does not see");
}

// ---- the scale of queries ----

struct QueryRow {
  Expr result;
  std::string comment;
};

QueryRow scale(std::monostate, Scores&) { return {}; }

QueryRow scale(const Llama4Temperature& scheme, Scores& s) {
  s.add("attn_scale", scheme.attn_scale, s.sources("query_scale/attn_scale"));
  s.add("floor_scale", scheme.floor_scale, s.sources("query_scale/floor_scale"));
  return {logarithm_1p(floored((kQuery + whole(1)) / real_constant("floor_scale"))) * real_constant("attn_scale") +
              real(1.0),
          "Llama 4's attention temperature, by the position of the query. arXiv 2501.19399"};
}

QueryRow scale(const MinistralTemperature& scheme, Scores& s) {
  s.add("temperature_beta", scheme.beta, s.sources("query_scale/beta"));
  s.add_count("temperature_length", scheme.original_max_position_embeddings,
              s.sources("query_scale/original_max_position_embeddings"));
  return {real(1.0) +
              real_constant("temperature_beta") * logarithm_1p(floored(kQuery / whole_constant("temperature_length"))),
          "Ministral 3's attention temperature, by the position of the query."};
}

QueryRow scale(const LogNScale& scheme, Scores& s) {
  if (scheme.seq_length < 2) refuse("log-n attention", "its length is below 2");
  s.add("log_length", std::log(static_cast<double>(scheme.seq_length)),
        formatted("ln({}): {}", scheme.seq_length, s.sources("query_scale/seq_length")));
  return {larger(logarithm(kQuery + whole(1)) / real_constant("log_length"), real(1.0)),
          "Log-n attention (Qwen 1): queries beyond the trained length are scaled up."};
}

QueryRow scale(const BeamTemperature& scheme, Scores& s) {
  s.add("temperature_exponent", scheme.exponent, s.sources("query_scale/exponent"));
  s.add("temperature_length", scheme.length, s.sources("query_scale/length"));
  return {exponential(real_constant("temperature_exponent") *
                      logarithm_1p((kQuery + whole(1)) / real_constant("temperature_length"))),
          "Beam's attention temperature: (1 + (i + 1) / length)^exponent."};
}

QueryRow scale(const InklingTemperature& scheme, Scores& s) {
  s.add("temperature_alpha", scheme.alpha, s.sources("query_scale/alpha"));
  s.add("temperature_floor", scheme.floor, s.sources("query_scale/floor"));
  return {real(1.0) + real_constant("temperature_alpha") *
                          logarithm(larger((kQuery + whole(1)) / real_constant("temperature_floor"), real(1.0))),
          "Inkling's attention temperature, by the position of the query."};
}

// ---- other stages ----

void check_regions(std::monostate) {}
void check_regions(const SelfExtend&) {
  refuse("SelfExtend", "rotations that depend on the distance are not written yet");
}
void check_regions(const ReRope&) { refuse("ReRoPE", "rotations that depend on the distance are not written yet"); }
void check_regions(const DualChunk&) {
  refuse("dual chunk attention", "rotations that depend on the distance are not written yet");
}

void add_values(std::monostate, Recipe&) {}
void add_values(const ShawValues&, Recipe&) {
  refuse("Shaw's relative values", "sums of weights by distance are not written yet");
}
void add_values(const RotatedValues& scheme, Recipe& recipe) {
  recipe.rotates_values = true;
  recipe.unrotates_output = scheme.inverse_on_output;
  recipe.facts.emplace_back("values", scheme.inverse_on_output
                                          ? "rotated as keys are, and the output back by the inverse"
                                          : "rotated as keys are");
}

}  // namespace

void add_scores(Recipe& recipe, const LayerPlan& layer, const Sources& sources) {
  Scores s{recipe, layer, sources};
  recipe.constants.push_back({"softmax_scale", layer.softmax_scale, sources("softmax_scale")});
  recipe.facts.emplace_back("scores", formatted("softmax scale {}", layer.softmax_scale));
  std::string& text = recipe.facts.back().second;
  if (layer.soft_cap) {
    recipe.constants.push_back({"soft_cap", layer.soft_cap->cap, sources("soft_cap")});
    recipe.cap = layer.soft_cap->order;
    text += formatted(", soft cap {} {} the bias", layer.soft_cap->cap,
                      layer.soft_cap->order == SoftCap::Order::after_bias ? "after" : "before");
  }
  if (layer.sinks) {
    recipe.sinks = true;
    recipe.tables.push_back({.name = "sinks",
                             .shape = "[heads]",
                             .comment = "learned logits that take weight and give nothing",
                             .golden = "sinks"});
    text += ", attention sinks";
  }
  std::visit([](const auto& scheme) { check_regions(scheme); }, layer.regions);
  for (s.term = 0; s.term < layer.score.size(); ++s.term) {
    std::visit([&](const auto& scheme) { score(scheme, s); }, layer.score[s.term]);
  }
  QueryRow row = std::visit([&](const auto& scheme) { return scale(scheme, s); }, layer.query_scale);
  if (!row.comment.empty()) {
    recipe.facts.emplace_back("queries", row.comment);
    recipe.query_scale = {.name = "query_scale",
                          .comment = std::move(row.comment),
                          .parameters = {{"i", Type::whole, From::q_position}},
                          .result = std::move(row.result)};
  }
  std::visit([&](const auto& scheme) { add_values(scheme, recipe); }, layer.value);
}

}  // namespace posenc::code
