// An orthonormal basis of A's columns, the longest remaining column first (QR with pivoting, by modified Gram-Schmidt),
// to which B is made orthogonal. Normal equations would square the condition: slow pairs of sinusoids, which are nearly
// straight lines in a short sequence, make it 1e8 and more.
#include "properties/span.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace posenc::properties {
namespace {

using Column = std::vector<double>;

std::vector<Column> columns_of(const Rows& rows) {
  std::vector<Column> out(static_cast<std::size_t>(rows.width), Column(static_cast<std::size_t>(rows.count())));
  for (std::size_t n = 0; n < rows.values.size(); ++n) {
    out[n % out.size()][n / out.size()] = rows.values[n];
  }
  return out;
}

double product(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// x less its part along the unit vector u.
void make_orthogonal(Column& x, const Column& u) {
  const double along = product(x, u);
  for (std::size_t n = 0; n < x.size(); ++n) x[n] -= along * u[n];
}

}  // namespace

// Columns shorter than `nothing`, rounding's share of all of A, are taken for dependent ones.
double least_squares_residual(const Rows& a, const Rows& b) {
  std::vector<Column> left = columns_of(a);
  std::vector<Column> wanted = columns_of(b);
  const double nothing =
      std::numeric_limits<double>::epsilon() * static_cast<double>(a.count()) * std::sqrt(product(a.values, a.values));
  std::vector<Column> basis;
  while (!left.empty()) {
    std::size_t longest = 0;
    for (std::size_t c = 1; c < left.size(); ++c) {
      if (product(left[c], left[c]) > product(left[longest], left[longest])) longest = c;
    }
    Column unit = std::move(left[longest]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(longest));
    for (const Column& one : basis) make_orthogonal(unit, one);  // again: what the first time left by rounding
    const double length = std::sqrt(product(unit, unit));
    if (length <= nothing) break;
    for (double& x : unit) x /= length;
    for (Column& column : left) make_orthogonal(column, unit);
    for (Column& column : wanted) make_orthogonal(column, unit);
    basis.push_back(std::move(unit));
  }
  double squares = 0.0;
  for (const Column& column : wanted) squares += product(column, column);
  return std::sqrt(squares);
}

}  // namespace posenc::properties
