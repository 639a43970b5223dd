// (x_i + p_i) W_Q W_K^T (x_j + p_j)^T multiplied out: arXiv 1901.02860, section 3.3, from which the relative schemes
// with content terms begin.
#include <cmath>
#include <numeric>
#include <span>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/properties.h"
#include "properties/input_rows.h"
#include "properties/words.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Rows;

// Root mean square over all queries, keys and heads of q_i . k_j / sqrt(head_dim).
double size_of_scores(const Rows& q, const Rows& k, std::int64_t head_dim) {
  const auto width = static_cast<std::size_t>(head_dim);
  double squares = 0.0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < q.count(); ++i) {
    for (std::int64_t j = 0; j < k.count(); ++j) {
      for (std::size_t at = 0; at < q[i].size(); at += width) {
        const auto a = q[i].subspan(at, width);
        const double score =
            std::inner_product(a.begin(), a.end(), k[j].begin() + static_cast<std::ptrdiff_t>(at), 0.0);
        squares += score * score;
        ++count;
      }
    }
  }
  return std::sqrt(squares / static_cast<double>(count * head_dim));
}

}  // namespace

// W_Q and W_K are linear, so words and positions can be projected apart and each pair of products taken alone.
FourTerms four_terms(std::string_view scheme) {
  const properties::Made made(properties::entry("four_terms", scheme), {.places = kTrainedPlaces});
  if (!made->input) throw Error("four_terms", {"scheme", "be of the input stage", formatted("'{}'", scheme)});
  const properties::Vocabulary vocabulary(made->size, kTrainedPlaces);
  const Rows& x = vocabulary.embeddings();
  const Rows p = position_rows(*made, kTrainedPlaces);
  const Rows q_of_x = projected(x, vocabulary.w_q());
  const Rows q_of_p = projected(p, vocabulary.w_q());
  const Rows k_of_x = projected(x, vocabulary.w_k());
  const Rows k_of_p = projected(p, vocabulary.w_k());
  const std::int64_t head_dim = made->size.head_dim;
  return {.token_token = size_of_scores(q_of_x, k_of_x, head_dim),
          .token_position = size_of_scores(q_of_x, k_of_p, head_dim),
          .position_token = size_of_scores(q_of_p, k_of_x, head_dim),
          .position_position = size_of_scores(q_of_p, k_of_p, head_dim)};
}

}  // namespace posenc::inline v0_2
