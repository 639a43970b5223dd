// A reader for each scheme: refuses numbers that it does not have, and takes the others within bounds, or as
// kTermNumbers has them where they are left out. The formulas are in posenc/scores.h, the papers in posenc/schemes.h. A
// scheme has one head unless heads differ by a formula (slopes); what heads would have learned differently is not
// drawn.
#include "plot/term_word.h"

#include <map>

#include "plot/numbers.h"

namespace posenc::tool {
namespace {

// With these a table has at most 2 * 65536 + 1 rows, those of shaw.
constexpr std::int64_t kMostHeads = 512;
constexpr std::int64_t kMostRows = 1 << 16;  // of a table
constexpr std::int64_t kLargestDistance = 1 << 20;

DrawnTerm alibi(const SchemeWord& word) {
  check_numbers(word, {"heads", "max_bias", "symmetric"});
  const Numbers n(word);
  const std::int64_t heads = n.whole("heads", 8, 1, kMostHeads);
  return {.term = Alibi{.heads = heads, .max_bias = n.real("max_bias", 8.0), .symmetric = n.yes("symmetric")},
          .heads = heads};
}

DrawnTerm t5(const SchemeWord& word) {
  check_numbers(word, {"buckets", "max_distance", "bidirectional"});
  const Numbers n(word);
  return {.term = T5Bias{.buckets = n.whole("buckets", 32, 2, kMostRows),
                         .max_distance = n.whole("max_distance", 128, 1, kLargestDistance),
                         .bidirectional = n.yes("bidirectional")}};
}

DrawnTerm clipped(const SchemeWord& word) {
  check_numbers(word, {"past", "future"});
  const Numbers n(word);
  return {.term =
              ClippedBias{.past = n.whole("past", 16, 0, kMostRows), .future = n.whole("future", 16, 0, kMostRows)}};
}

// 22 x 22 is the largest square of which all tokens, 484, are below kMostCells. rows: patches along a side.
DrawnTerm grid(const SchemeWord& word) {
  check_numbers(word, {"rows", "columns"});
  const Numbers n(word);
  const std::int64_t rows = n.whole("rows", 7, 1, 22);
  return {.term = GridBias{.rows = rows, .columns = n.whole("columns", rows, 1, 22)}};
}

DrawnTerm kerple(const SchemeWord& word) {
  check_numbers(word, {"form", "r1", "r2"});
  const Numbers n(word);
  const bool power = word.numbers.choice("form", {"logarithmic", "power"}).value_or(0) == 1;
  return {.term = Kerple{.form = power ? Kerple::Form::power : Kerple::Form::logarithmic},
          .r1 = n.real("r1", 1.0),
          .r2 = n.real("r2", 1.0)};
}

DrawnTerm fire(const SchemeWord& word) {
  check_numbers(word, {"c", "threshold"});
  const Numbers n(word);
  return {.term = Fire{}, .c = n.above_zero("c", 1.0), .threshold = n.above_zero("threshold", 16.0)};
}

DrawnTerm sandwich(const SchemeWord& word) {
  check_numbers(word, {"heads", "channels"});
  const Numbers n(word);
  const std::int64_t heads = n.whole("heads", 8, 1, kMostHeads);
  return {.term = Sandwich{.heads = heads, .channels = n.whole("channels", 128, 2, 1 << 12)}, .heads = heads};
}

DrawnTerm mlp(const SchemeWord& word) {
  check_numbers(word, {"logarithmic"});
  return {.term = MlpBias{.logarithmic = Numbers(word).yes("logarithmic")}};
}

DrawnTerm shaw(const SchemeWord& word) {
  check_numbers(word, {"left", "right"});
  const Numbers n(word);
  return {.term = ShawKeys{.left = n.whole("left", 16, 0, kMostRows), .right = n.whole("right", 16, 0, kMostRows)}};
}

// Without u . k_j, which has nothing to do with positions.
DrawnTerm transformer_xl(const SchemeWord& word) {
  check_numbers(word, {"clamp_length", "asks"});
  const Numbers n(word);
  return {
      .term = TransformerXl{.clamp_length = n.whole("clamp_length", -1, 0, kLargestDistance), .content_bias = false},
      .asks = n.whole("asks", 16, 0, kLargestDistance)};
}

DrawnTerm xlnet(const SchemeWord& word) {
  check_numbers(word, {"clamp_length", "asks"});
  const Numbers n(word);
  return {.term = XlNet{.clamp_length = n.whole("clamp_length", -1, 0, kLargestDistance)},
          .asks = n.whole("asks", 16, 0, kLargestDistance)};
}

// Content to position alone: position to content takes the same row of the table.
DrawnTerm deberta(const SchemeWord& word) {
  check_numbers(word, {"buckets", "max_distance"});
  const Numbers n(word);
  return {.term = Deberta{.buckets = n.whole("buckets", 0, 0, kMostRows),
                          .max_distance = n.whole("max_distance", 512, 1, kMostRows),
                          .position_to_content = false}};
}

// rows = 2 side - 1: 43 of a side of 22, as for grid.
DrawnTerm decomposed_hw(const SchemeWord& word) {
  check_numbers(word, {"rows"});
  return {.term = DecomposedHw{.rows = Numbers(word).whole("rows", 13, 1, 43)}};
}

DrawnTerm contextual(const SchemeWord& word) {
  check_numbers(word, {"positions", "every"});
  const Numbers n(word);
  return {.term = ContextualPosition{.positions = n.whole("positions", 64, 1, kMostRows)},
          .every = n.whole("every", 8, 1, kLargestDistance)};
}

DrawnTerm forget(const SchemeWord& word) {
  check_numbers(word, {"every"});
  return {.term = ForgetGate{}, .every = Numbers(word).whole("every", 8, 1, kLargestDistance)};
}

const std::map<std::string, DrawnTerm (*)(const SchemeWord&)>& readers() {
  static const std::map<std::string, DrawnTerm (*)(const SchemeWord&)> all{{"alibi", alibi},
                                                                           {"t5", t5},
                                                                           {"clipped", clipped},
                                                                           {"grid", grid},
                                                                           {"kerple", kerple},
                                                                           {"fire", fire},
                                                                           {"sandwich", sandwich},
                                                                           {"mlp", mlp},
                                                                           {"shaw", shaw},
                                                                           {"transformer_xl", transformer_xl},
                                                                           {"xlnet", xlnet},
                                                                           {"deberta", deberta},
                                                                           {"decomposed_hw", decomposed_hw},
                                                                           {"contextual", contextual},
                                                                           {"forget", forget}};
  return all;
}

DrawnTerm drawn_term_of(const SchemeWord& word) {
  const auto found = readers().find(word.name);
  if (found != readers().end()) return found->second(word);
  std::vector<std::string> names;
  for (const auto& [name, read] : readers()) names.push_back(name);
  unknown_scheme(word, names);
}

}  // namespace

DrawnTerm read_term(const SchemeText& scheme) { return read_scheme(scheme, drawn_term_of); }

}  // namespace posenc::tool
