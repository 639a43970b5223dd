// VectorCall: the inputs of vectors as views, the learned tables found by their names.
#include <algorithm>
#include <string>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"
#include "posenc/vectors.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2 {
namespace {

const VectorTensor& required_tensor(const Vectors& vectors, const std::string& name) {
  const VectorTensor* found = vectors.find(name);
  if (found == nullptr) throw Error("VectorCall", {"vectors", formatted("have the input {}", name), "without it"});
  return *found;
}

ConstTensorView view_if_any(const Vectors& vectors, std::string_view name) {
  const VectorTensor* found = vectors.find(name);
  return found == nullptr ? ConstTensorView{} : golden::view(*found);
}

template <typename T>
std::vector<T> whole_numbers(const VectorTensor& tensor) {
  std::vector<T> out;
  out.reserve(tensor.values.size());
  for (const double x : tensor.values) out.push_back(static_cast<T>(x));
  return out;
}

}  // namespace

const VectorTensor* Vectors::find(std::string_view wanted) const noexcept {
  const auto found = std::ranges::find(tensors, wanted, &VectorTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

// Of one axis the positions are the order.
VectorCall::VectorCall(const Vectors& vectors)
    : q(golden::view(required_tensor(vectors, "q"))),
      k(golden::view(required_tensor(vectors, "k"))),
      v(golden::view(required_tensor(vectors, "v"))),
      positions(whole_numbers<std::int64_t>(required_tensor(vectors, "positions"))) {
  const VectorTensor* other_order = vectors.find("order");
  order = other_order == nullptr ? positions : whole_numbers<std::int64_t>(*other_order);
  weights = named_weights(vectors.layer, [&](const std::string& name, bool is_needed) {
    return is_needed ? golden::view(required_tensor(vectors, name)) : view_if_any(vectors, name);
  });
  if (const VectorTensor* of_tokens = vectors.find("segments_of_tokens")) {
    segments = whole_numbers<std::int32_t>(*of_tokens);
  }
  if (const VectorTensor* prefix = vectors.find("prefix"); prefix != nullptr && !prefix->values.empty()) {
    inputs.prefix = static_cast<std::int64_t>(prefix->values.front());
  }
  inputs.q_positions = std::span<const std::int64_t>(positions);
  inputs.k_positions = std::span<const std::int64_t>(positions);
  inputs.q_order = order;
  inputs.k_order = order;
  inputs.q_segments = segments;
  inputs.k_segments = segments;
  inputs.attn_mask = view_if_any(vectors, "attn_mask");
  inputs.bias = view_if_any(vectors, "bias");
  inputs.log_forget = view_if_any(vectors, "log_forget");
  inputs.row_gate = view_if_any(vectors, "row_gate");
  inputs.length = vectors.options.length;
}

}  // namespace posenc::inline v0_2
