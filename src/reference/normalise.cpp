// QK norm in double, each as its formula stands: RMSNorm, arXiv 1910.07467, LayerNorm, arXiv 1607.06450, and L2; over a
// head or over all heads of a token; and in reverse. posenc/cache.h and cache/backward.h have the formulas,
// src/kernels/norm_loop.h the kernels.
#include <cmath>
#include <vector>

#include "base/formatted.h"
#include "posenc/cache.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "posenc/reference_backward.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr const char* kNormalise = "reference::normalise";
constexpr const char* kNormaliseBackward = "reference::normalise_backward";

void require_row(const char* where, bool holds, const char* field, std::string must, std::string is) {
  if (!holds) throw Error(where, {field, std::move(must), std::move(is)});
}

std::int64_t size_of(const ConstTensorView& x) { return x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1]; }

// Unlike rotate_into_cache, any strides and any dtype will do: elements are read one at a time.
void check(const char* where, const ConstTensorView& x, const KeyNorm& norm) {
  require_row(where, x.rank == 3 || x.rank == 4, "x.rank", "be 3 or 4", formatted("{}", x.rank));
  const std::int64_t head_dim = x.shape[static_cast<std::size_t>(x.rank - 1)];
  for (const ConstTensorView& given : {norm.weight, norm.bias}) {
    if (given.empty()) continue;
    require_row(where, given.rank <= 2, "norm", "have a weight and a bias of rank 1 or 2", formatted("{}", given.rank));
    require_row(where, size_of(given) == head_dim || size_of(given) == sizes_of(x).heads * head_dim, "norm",
                "have a weight and a bias of head_dim, or of all heads", formatted("{}", size_of(given)));
  }
}

// The number of channel c of head h; `otherwise` where there is no tensor.
double given_for(const ConstTensorView& x, std::int64_t h, std::int64_t c, std::int64_t head_dim, double otherwise) {
  if (x.empty()) return otherwise;
  const std::int64_t i = size_of(x) == head_dim ? c : h * head_dim + c;
  return x.rank == 1 ? element(x, {i}) : element(x, {i / x.shape[1], i % x.shape[1]});
}

using Numbers = std::vector<double>;

double mean_of(const Numbers& x) {
  double sum = 0.0;
  for (const double y : x) sum += y;
  return sum / static_cast<double>(x.size());
}

// Of sum(x^2) / divisor + epsilon, x less its mean first for layer.
double divisor(const Numbers& x, QkNorm::Kind kind) {
  return kind == QkNorm::Kind::l2 ? 1.0 : static_cast<double>(x.size());
}
void subtract_mean(Numbers& x, QkNorm::Kind kind) {
  if (kind != QkNorm::Kind::layer) return;
  const double mean = mean_of(x);
  for (double& y : x) y -= mean;
}
double root_of(const Numbers& x, const KeyNorm& norm) {
  double squares = 0.0;
  for (const double y : x) squares += y * y;
  return std::sqrt(squares / divisor(x, norm.scheme.kind) + norm.epsilon);
}

Numbers normalised(Numbers x, const KeyNorm& norm) {
  subtract_mean(x, norm.scheme.kind);
  const double root = root_of(x, norm);
  for (double& y : x) y /= root;
  return x;
}

// What a loss gives of x where it gives d of normalised(x): y_i = x_i / root, root^2 = sum(x^2) / divisor + epsilon.
//
//   droot = - sum(d x) / root^2,   dx_i = d_i / root + droot x_i / (divisor root)      less its mean for layer
Numbers normalised_backward(Numbers x, const Numbers& d, const KeyNorm& norm) {
  subtract_mean(x, norm.scheme.kind);
  const double root = root_of(x, norm);
  double d_root = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) d_root -= d[i] * x[i] / (root * root);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = d[i] / root + d_root * x[i] / (divisor(x, norm.scheme.kind) * root);
  }
  subtract_mean(x, norm.scheme.kind);
  return x;
}

// A row is one head, or all heads of a token as one vector (OLMo 2's norm), head by head as they lie in a token.
struct Element {
  std::int64_t b, t, h, c;
};
// Calls of_row(elements) for each row of x.
template <typename OfRow>
void for_rows(const ConstTensorView& x, const KeyNorm& norm, const OfRow& of_row) {
  const Sizes sizes = sizes_of(x);
  const std::int64_t head_dim = x.shape[static_cast<std::size_t>(x.rank - 1)];
  const std::int64_t together = norm.scheme.over == QkNorm::Over::head ? 1 : sizes.heads;
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t first = 0; first < sizes.heads; first += together) {
        std::vector<Element> row;
        for (std::int64_t i = 0; i < together * head_dim; ++i) {
          row.push_back({b, t, first + i / head_dim, i % head_dim});
        }
        of_row(row);
      }
    }
  }
}

std::int64_t place_of_element(const ConstTensorView& x, const Element& at) {
  return offset_of(x, at.b, at.t, at.h) + at.c * x.strides[static_cast<std::size_t>(x.rank - 1)];
}
Numbers read_row(const ConstTensorView& x, const std::vector<Element>& row) {
  Numbers out;
  for (const Element& at : row) out.push_back(read(x, place_of_element(x, at)));
  return out;
}

double weight_of(const KeyNorm& norm, const Element& at, std::int64_t head_dim) {
  return given_for(norm.weight, at.h, at.c, head_dim, 1.0) + (norm.weight_plus_one ? 1.0 : 0.0);
}

// Where given_for() finds its number.
double& sum_for(const TensorView& x, const Element& at, std::int64_t head_dim) {
  const std::int64_t i = size_of(x) == head_dim ? at.c : at.h * head_dim + at.c;
  const std::int64_t offset =
      x.rank == 1 ? i * x.strides[0] : i / x.shape[1] * x.strides[0] + i % x.shape[1] * x.strides[1];
  return static_cast<double*>(x.data)[offset];
}

void check_written(const char* where, const char* field, const TensorView& written, const ConstTensorView& like) {
  require_row(where, written.rank == like.rank && written.shape == like.shape, field, "have the shape of its tensor",
              "of another");
  require_row(where, written.dtype == DType::f64, field, "be f64", std::string(name(written.dtype)));
}

}  // namespace

void normalise(const TensorView& out, const ConstTensorView& x, const KeyNorm& norm) {
  check(kNormalise, x, norm);
  check_written(kNormalise, "out", out, x);
  const std::int64_t head_dim = x.shape[static_cast<std::size_t>(x.rank - 1)];
  for_rows(x, norm, [&](const std::vector<Element>& row) {
    const Numbers y = normalised(read_row(x, row), norm);
    for (std::size_t i = 0; i < row.size(); ++i) {
      static_cast<double*>(out.data)[place_of_element(out, row[i])] =
          y[i] * weight_of(norm, row[i], head_dim) + given_for(norm.bias, row[i].h, row[i].c, head_dim, 0.0);
    }
  });
}

void normalise_backward(const NormaliseBackwardArgs& args) {
  const KeyNorm& norm = args.norm;
  check(kNormaliseBackward, args.x, norm);
  require_row(kNormaliseBackward, args.d_out.rank == args.x.rank && args.d_out.shape == args.x.shape, "d_out.shape",
              "be that of x", "another");
  if (!args.d_x.empty()) check_written(kNormaliseBackward, "d_x", args.d_x, args.x);
  if (!args.d_weight.empty()) check_written(kNormaliseBackward, "d_weight", args.d_weight, norm.weight);
  if (!args.d_bias.empty()) check_written(kNormaliseBackward, "d_bias", args.d_bias, norm.bias);
  const std::int64_t head_dim = args.x.shape[static_cast<std::size_t>(args.x.rank - 1)];
  for (const TensorView* const sums : {&args.d_weight, &args.d_bias}) {
    for (std::int64_t i = 0; !sums->empty() && i < size_of(*sums); ++i) {
      sum_for(*sums, {0, 0, i / head_dim, i % head_dim}, head_dim) = 0.0;
    }
  }
  for_rows(args.x, norm, [&](const std::vector<Element>& row) {
    const Numbers x = read_row(args.x, row);
    const Numbers d = read_row(args.d_out, row);
    const Numbers y = normalised(x, norm);
    Numbers d_y = d;
    for (std::size_t i = 0; i < row.size(); ++i) {
      d_y[i] *= weight_of(norm, row[i], head_dim);
      if (!args.d_weight.empty()) sum_for(args.d_weight, row[i], head_dim) += d[i] * y[i];
      if (!args.d_bias.empty()) sum_for(args.d_bias, row[i], head_dim) += d[i];
    }
    if (args.d_x.empty()) return;
    const Numbers d_x = normalised_backward(x, d_y, norm);
    for (std::size_t i = 0; i < row.size(); ++i) {
      static_cast<double*>(args.d_x.data)[place_of_element(args.d_x, row[i])] = d_x[i];
    }
  });
}

}  // namespace posenc::inline v0_2::reference
