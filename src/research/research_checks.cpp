#include "research/research_checks.h"

#include <cmath>
#include <string>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::inline v0_2::reference {

void require_finite(std::string_view where, std::string_view field, double x) {
  if (!std::isfinite(x)) throw Error(where, {std::string(field), "be finite", formatted("{}", x)});
}

void require_numbers(std::string_view where, std::string_view field, std::span<const double> x, std::size_t count) {
  if (x.size() != count) {
    throw Error(where, {std::string(field), formatted("have {} numbers", count), formatted("{} long", x.size())});
  }
  for (const double number : x) require_finite(where, field, number);
}

void require_heads(std::string_view where, std::span<const double> q, std::span<const double> k) {
  if (q.empty()) throw Error(where, {"q", "have at least one channel", "empty"});
  require_numbers(where, "q", q, q.size());
  require_numbers(where, "k", k, q.size());
}

}  // namespace posenc::inline v0_2::reference
