#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference_research.h"
#include "reference/attention_row.h"
#include "research/research_checks.h"

namespace posenc::inline v0_2::reference {

double path_score(std::span<const double> q, std::span<const double> k, std::span<const double> w,
                  std::span<const double> betas) {
  constexpr std::string_view kWhere = "path_score";
  require_heads(kWhere, q, k);
  require_numbers(kWhere, "betas", betas, betas.size());
  require_numbers(kWhere, "w", w, betas.size() * q.size());
  for (const double beta : betas) {
    if (beta < 0.0 || beta > 2.0) {
      throw Error(kWhere, {"betas", "lie from 0 to 2", formatted("{}", beta)});
    }
  }
  std::vector<double> x(q.begin(), q.end());
  for (std::size_t step = betas.size(); step-- > 0;) {  // H_i first: it stands beside q
    const std::span<const double> w_step = w.subspan(step * q.size(), q.size());
    const double along = betas[step] * dot(w_step, x);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] -= along * w_step[c];
  }
  return dot(k, x);
}

}  // namespace posenc::inline v0_2::reference
