// Shapes, dtypes and memory of gradients, for all backward passes.
#include "cpu/backward/check_gradients.h"

#include <array>

#include "base/formatted.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr std::array kOfHeads{DType::f32, DType::f16, DType::bf16};
constexpr std::array kOfLearned{DType::f32, DType::f64};

}  // namespace

TensorView written_view(const ConstTensorView& x) {
  return {const_cast<void*>(x.data), x.dtype, x.rank, x.shape, x.strides};
}

void require_given(const char* where, const std::string& field, const ConstTensorView& x) {
  if (x.empty()) throw Error(where, {field, "be given", "omitted"});
}

void require_aligned(const char* where, const std::string& field, const ConstTensorView& x) {
  if (!x.empty() && !is_aligned(x)) throw Error(where, {field + ".data", "be aligned to its elements", "between two"});
}

void check_heads_gradient(const char* where, const std::string& field, const TensorView& x,
                          const ConstTensorView& like) {
  math::check_gradient(where, field, x, like, kOfHeads);
  if (x.empty()) return;
  const auto last = static_cast<std::size_t>(x.rank - 1);
  if (x.shape[last] > 1 && x.strides[last] != 1) {
    throw Error(where, {formatted("{}.strides[{}]", field, last), "be 1, since channels of a head are adjacent",
                        formatted("{}", x.strides[last])});
  }
  require_aligned(where, field, x);
}

void check_numbers_gradient(const char* where, const std::string& field, const TensorView& x,
                            const ConstTensorView& like) {
  math::check_gradient(where, field, x, like, kOfLearned);
  require_aligned(where, field, x);
}

void check_learned_gradients(const char* where, const LayerPlan& layer, const LayerWeights& weights,
                             std::span<const NamedGradient> given) {
  math::check_gradients(where, layer, weights, given, kOfLearned);
  for (const NamedGradient& one : given) {
    require_aligned(where, formatted("d_weights[\"{}\"]", one.name), one.gradient);
  }
}

void check_written_apart(const char* where, const NamedTensors& written, const NamedTensors& read) {
  for (std::size_t n = 0; n < written.size(); ++n) {
    const auto& [field, own] = written[n];
    if (!has_elements(own)) continue;
    const Memory memory = memory_of(where, field, own);
    check_places(where, field, memory);
    const auto check = [&, &name = field](const std::string& other, const ConstTensorView& x) {
      if (!has_elements(x) || are_disjoint(memory, memory_of(where, other, x))) return;
      throw Error(where, {name, formatted("not share memory with {}", other), "memory of both"});
    };
    for (const auto& [other, x] : read) check(other, x);
    for (std::size_t before = 0; before < n; ++before) check(written[before].first, written[before].second);
  }
}

}  // namespace posenc::cpu
