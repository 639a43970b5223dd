#include "diagnose/attention/few_queries.h"

#include <algorithm>
#include <utility>

namespace posenc::inline v0_2::port {
namespace {

std::vector<double> rows_of(const std::vector<double>& of, const std::vector<std::size_t>& queries, std::size_t all,
                            std::size_t width, std::size_t heads) {
  std::vector<double> out;
  if (of.empty()) return out;
  for (std::size_t h = 0; h < heads; ++h) {
    for (const std::size_t i : queries) {
      const auto from = of.begin() + static_cast<std::ptrdiff_t>((h * all + i) * width);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
  }
  return out;
}

}  // namespace

Few few_queries(const DumpedAttention& dumped, const AttentionTried& plan, std::size_t most) {
  std::vector<std::size_t> queries;
  const std::size_t count = std::min(dumped.queries, most);
  for (std::size_t n = 0; n < count; ++n) queries.push_back(dumped.queries - 1 - n * dumped.queries / count);
  return these_queries(dumped, plan, queries);
}

Few these_queries(const DumpedAttention& dumped, const AttentionTried& plan, const std::vector<std::size_t>& queries) {
  Few out{dumped, plan};
  DumpedAttention& few = out.dumped;
  few.queries = queries.size();
  few.q = rows_of(dumped.q, queries, dumped.queries, dumped.heads * dumped.head_dim, 1);
  few.out = plan.out_by_heads ? rows_of(dumped.out, queries, dumped.queries, dumped.value_dim, dumped.heads)
                              : rows_of(dumped.out, queries, dumped.queries, dumped.heads * dumped.value_dim, 1);
  few.scores = rows_of(dumped.scores, queries, dumped.queries, dumped.keys, dumped.heads);
  few.weights = rows_of(dumped.weights, queries, dumped.queries, dumped.keys, dumped.heads);
  few.given.clear();
  Seen seen;
  few.q_order.clear();
  for (const std::size_t i : queries) {
    few.q_order.push_back(dumped.q_order[i]);
    const auto from = plan.seen->begin() + static_cast<std::ptrdiff_t>(i * dumped.keys);
    seen.insert(seen.end(), from, from + static_cast<std::ptrdiff_t>(dumped.keys));
  }
  out.plan.seen = std::make_shared<const Seen>(std::move(seen));
  out.plan.content =
      std::make_shared<const Scores>(rows_of(*plan.content, queries, dumped.queries, dumped.keys, dumped.heads));
  out.plan.bias =
      std::make_shared<const Scores>(rows_of(*plan.bias, queries, dumped.queries, dumped.keys, dumped.heads));
  return out;
}

}  // namespace posenc::inline v0_2::port
