// Sums along the row. Forget gates need no walk: the sum between two tokens is the difference of two sums from the
// start of the sequence, in double.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/formatted.h"
#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// A gate of 0 has the logarithm -infinity, and the difference of two sums with it would be NaN.
double log_forget(const Lowering& lowering, std::int64_t row, std::int64_t h) {
  const double f = read(lowering.inputs.log_forget, {row, h});
  if (std::isfinite(f)) return f;
  throw Error("lower", {"log_forget", "be finite, for sums from the start of the sequence", formatted("{}", f)});
}

}  // namespace

// CoPE's gates depend on the scores, so they are summed tile by tile (kernels::Gates); only the table is prepared.
void lower_term(const ContextualPosition& scheme, const ScoreWeights& weights, Lowering& lowering) {
  lowering.out.terms.push_back(
      math::Running{.count = scheme.positions, .vectors = read_all(std::get<CopeWeights>(weights).table)});
}

// In the call's bias.
void lower_term(const DistanceLogits&, const ScoreWeights&, Lowering&) {}

// P(o): the sum over keys whose order is at most o. Of query and key, P(order of i) - P(order of j); P is the same for
// the query and the last key that it may see.
void lower_term(const ForgetGate&, const ScoreWeights&, Lowering& lowering) {
  const math::CallRows& rows = lowering.rows;
  math::Column out{.columns = std::vector<double>(index(lowering.layer.heads * rows.keys)),
                   .last_keys = std::vector<std::int32_t>(index(rows.queries), -1)};
  for (const math::SequenceRows& s : rows.sequences) {
    std::vector<std::int64_t> keys(index(s.k_count));
    std::vector<std::int64_t> queries(index(s.q_count));
    std::iota(keys.begin(), keys.end(), s.k_first);
    std::iota(queries.begin(), queries.end(), s.q_first);
    std::ranges::sort(keys, {}, [&](std::int64_t row) { return rows.k_order[index(row)]; });
    std::ranges::sort(queries, {}, [&](std::int64_t row) { return rows.q_order[index(row)]; });
    for (std::int64_t h = 0; h < lowering.layer.heads; ++h) {
      double sum = 0.0;
      auto next = keys.begin();  // of those that are in no sum yet
      auto query = queries.begin();
      while (next != keys.end() || query != queries.end()) {
        // Up to and with the next order that a key has; queries before it have the sum so far.
        const bool is_query_first =
            query != queries.end() && (next == keys.end() || rows.q_order[index(*query)] < rows.k_order[index(*next)]);
        if (is_query_first) {
          if (next != keys.begin()) out.last_keys[index(*query)] = static_cast<std::int32_t>(*std::prev(next));
          ++query;
          continue;
        }
        const std::int64_t order = rows.k_order[index(*next)];
        auto end = next;
        for (; end != keys.end() && rows.k_order[index(*end)] == order; ++end) sum += log_forget(lowering, *end, h);
        for (; next != end; ++next) out.columns[index(h * rows.keys + *next)] = -sum;
      }
    }
  }
  lowering.out.terms.push_back(std::move(out));
}

}  // namespace posenc::cpu
