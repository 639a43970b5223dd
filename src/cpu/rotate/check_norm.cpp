// Checks of a key norm (KeyNorm in posenc/cache.h): weights and biases for a head or for all heads, where the plan's QK
// norm has them and nowhere else; epsilon finite and at least 0.
#include <cmath>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "cpu/cache/check_cache.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// `heads` and `head_dim` are those of k.
class NormCheck {
 public:
  NormCheck(std::string_view where, const KeyNorm& norm, std::int64_t heads, std::int64_t head_dim)
      : where_(where), norm_(norm), heads_(heads), head_dim_(head_dim) {}

  void run() const {
    const auto& [scheme, epsilon, weight, bias, weight_plus_one] = norm_;
    check_scheme();
    if (!std::isfinite(epsilon) || epsilon < 0) {
      refuse("norm.epsilon", "be finite and at least 0", formatted("{}", epsilon));
    }
    if (weight.empty() && scheme.weighted) refuse("norm.weight", "be given where norm.scheme is weighted", "omitted");
    if (!weight.empty() && !scheme.weighted) {
      refuse("norm.weight", "be omitted where norm.scheme is not weighted", "given");
    }
    if (weight.empty() && weight_plus_one) refuse("norm.weight_plus_one", "be false without a weight", "true");
    if (!bias.empty() && scheme.kind != QkNorm::Kind::layer) {
      refuse("norm.bias", "be omitted for a norm that is not `layer`", "given");
    }
    if (!bias.empty() && weight.empty()) refuse("norm.bias", "be omitted where norm.weight is", "given");
    check_numbers("norm.weight", weight);
    check_numbers("norm.bias", bias);
    if (!bias.empty() && size_of(bias) != size_of(weight)) {
      refuse("norm.bias.shape", "have as many elements as norm.weight", "otherwise");
    }
  }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) const {
    throw Error(where_, {std::move(field), std::move(must), std::move(is)});
  }

  // Any number may have been cast to an enumeration.
  void check_scheme() const {
    const auto require = [&](const char* field, auto is, auto last, const char* must) {
      if (is > last) refuse(formatted("norm.scheme.{}", field), must, formatted("{}", static_cast<int>(is)));
    };
    require("kind", norm_.scheme.kind, QkNorm::Kind::layer, "be rms, l2 or layer");
    require("order", norm_.scheme.order, QkNorm::Order::after, "be before or after");
    require("over", norm_.scheme.over, QkNorm::Over::all_heads, "be head or all_heads");
  }

  // Whose sizes have been looked at.
  static std::int64_t size_of(const ConstTensorView& x) { return x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1]; }

  // [head_dim], [heads * head_dim] or [heads, head_dim], whose product may not fit 64 bits where k has no tokens.
  bool has_a_size(const ConstTensorView& x) const {
    std::int64_t all = 0;
    const bool fits = !__builtin_mul_overflow(heads_, head_dim_, &all);
    if (x.rank == 2) return fits && x.shape[0] == heads_ && x.shape[1] == head_dim_;
    const bool of_one_head = norm_.scheme.over == QkNorm::Over::head;
    return (fits && x.shape[0] == all) || (of_one_head && x.shape[0] == head_dim_);
  }

  // A weight or a bias: rank, dtype, size, adjacent elements, and a pointer where there are any.
  void check_numbers(const char* name, const ConstTensorView& x) const {
    if (x.empty()) return;
    if (x.rank < 1 || x.rank > 2) refuse(formatted("{}.rank", name), "be 1 or 2", formatted("{}", x.rank));
    if (x.dtype >= DType::f64) {
      refuse(formatted("{}.dtype", name), "be f32, f16 or bf16", std::string(posenc::name(x.dtype)));
    }
    if (!has_a_size(x)) {
      const bool of_one_head = norm_.scheme.over == QkNorm::Over::head;
      refuse(formatted("{}.shape", name),
             formatted("be {}{} heads of {}", of_one_head ? formatted("{} or ", head_dim_) : std::string(), heads_,
                       head_dim_),
             x.rank == 1 ? formatted("{}", x.shape[0]) : formatted("[{}, {}]", x.shape[0], x.shape[1]));
    }
    if (x.strides[static_cast<std::size_t>(x.rank - 1)] != 1 || (x.rank == 2 && x.strides[0] != x.shape[1])) {
      refuse(formatted("{}.strides", name), "leave elements adjacent", "otherwise");
    }
    if (size_of(x) == 0) return;
    if (x.data == nullptr) refuse(formatted("{}.data", name), "point to the elements", "null");
    const auto bytes = static_cast<std::uintptr_t>(bytes_of(x.dtype));
    if (reinterpret_cast<std::uintptr_t>(x.data) % bytes != 0) {
      refuse(formatted("{}.data", name), formatted("be aligned to its elements, {} bytes,", bytes), "between two");
    }
  }

  std::string_view where_;
  const KeyNorm& norm_;
  std::int64_t heads_;
  std::int64_t head_dim_;
};

}  // namespace

void check_norm(std::string_view where, const KeyNorm& norm, std::int64_t heads, std::int64_t head_dim) {
  NormCheck(where, norm, heads, head_dim).run();
}

}  // namespace posenc::cpu
