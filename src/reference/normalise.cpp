// QK norm in double, each as its formula stands: RMSNorm, arXiv 1910.07467, LayerNorm, arXiv 1607.06450, and L2; over a
// head or over all heads of a token. posenc/cache.h has the formulas, src/kernels/norm_loop.h the kernel.
#include <cmath>
#include <vector>

#include "base/formatted.h"
#include "posenc/cache.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {
namespace {

void require_row(bool holds, const char* field, std::string must, std::string is) {
  if (!holds) throw Error("reference::normalise", {field, std::move(must), std::move(is)});
}

std::int64_t size_of(const ConstTensorView& x) { return x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1]; }

// Unlike rotate_into_cache, any strides and any dtype will do: elements are read one at a time.
void check(const TensorView& out, const ConstTensorView& x, const KeyNorm& norm) {
  require_row(x.rank == 3 || x.rank == 4, "x.rank", "be 3 or 4", formatted("{}", x.rank));
  require_row(out.rank == x.rank && out.shape == x.shape, "out.shape", "be that of x", "another");
  require_row(out.dtype == DType::f64, "out.dtype", "be f64", std::string(name(out.dtype)));
  const std::int64_t head_dim = x.shape[static_cast<std::size_t>(x.rank - 1)];
  for (const ConstTensorView& given : {norm.weight, norm.bias}) {
    if (given.empty()) continue;
    require_row(given.rank <= 2, "norm", "have a weight and a bias of rank 1 or 2", formatted("{}", given.rank));
    require_row(size_of(given) == head_dim || size_of(given) == sizes_of(x).heads * head_dim, "norm",
            "have a weight and a bias of head_dim, or of all heads", formatted("{}", size_of(given)));
  }
}

// The number of channel c of head h; `otherwise` where there is no tensor.
double given_for(const ConstTensorView& x, std::int64_t h, std::int64_t c, std::int64_t head_dim, double otherwise) {
  if (x.empty()) return otherwise;
  const std::int64_t i = size_of(x) == head_dim ? c : h * head_dim + c;
  return x.rank == 1 ? element(x, {i}) : element(x, {i / x.shape[1], i % x.shape[1]});
}

// x / sqrt(mean(x^2) + epsilon), of the sum for l2; less its mean first for layer.
std::vector<double> normalised(std::vector<double> x, QkNorm::Kind kind, double epsilon) {
  const auto n = static_cast<double>(x.size());
  double mean = 0.0;
  if (kind == QkNorm::Kind::layer) {
    for (const double y : x) mean += y / n;
  }
  double squares = 0.0;
  for (double& y : x) {
    y -= mean;
    squares += y * y;
  }
  const double root = std::sqrt((kind == QkNorm::Kind::l2 ? squares : squares / n) + epsilon);
  for (double& y : x) y /= root;
  return x;
}

}  // namespace

// A row is one head, or all heads of a token as one vector (OLMo 2's norm), head by head as they lie in a token.
void normalise(const TensorView& out, const ConstTensorView& x, const KeyNorm& norm) {
  check(out, x, norm);
  const Sizes sizes = sizes_of(x);
  const auto last = static_cast<std::size_t>(x.rank - 1);
  const std::int64_t head_dim = x.shape[last];
  const std::int64_t together = norm.scheme.over == QkNorm::Over::head ? 1 : sizes.heads;
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t first = 0; first < sizes.heads; first += together) {
        std::vector<double> row;
        for (std::int64_t i = 0; i < together * head_dim; ++i) {
          row.push_back(read(x, offset_of(x, b, t, first + i / head_dim) + i % head_dim * x.strides[last]));
        }
        row = normalised(row, norm.scheme.kind, norm.epsilon);
        for (std::int64_t i = 0; i < together * head_dim; ++i) {
          const std::int64_t h = first + i / head_dim;
          const std::int64_t c = i % head_dim;
          const double weight = given_for(norm.weight, h, c, head_dim, 1.0) + (norm.weight_plus_one ? 1.0 : 0.0);
          const double bias = given_for(norm.bias, h, c, head_dim, 0.0);
          static_cast<double*>(out.data)[offset_of(out, b, t, h) + c * out.strides[last]] =
              row[static_cast<std::size_t>(i)] * weight + bias;
        }
      }
    }
  }
}

}  // namespace posenc::inline v0_2::reference
