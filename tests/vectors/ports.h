// Ports of a layer that golden vectors are held against: posenc's own kernels, and plain loops that round every stage
// to the dtype, as eager code of a framework does. Both can be spoiled.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "posenc/vectors.h"

namespace posenc::test {

// A tensor in a dtype's own bytes.
struct PortBytes {
  std::string name;
  DType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
  ConstTensorView view() const;
};
PortBytes port_bytes(std::string name, DType dtype, const std::vector<std::int64_t>& shape,
                     const std::vector<double>& values);

struct Port {
  std::vector<PortBytes> tensors;
  std::vector<NamedTensor> outputs() const;
  std::vector<NamedTensor> outputs(const std::vector<std::string>& names) const;
};

// What a spoiled port does otherwise: to the layer that is computed, and to the call. The vectors' own are not changed.
struct Spoil {
  std::function<void(LayerPlan&)> layer{};
  std::function<void(LayerInputs&, LayerWeights&)> call{};
};

// posenc::rotate and posenc::attend in that dtype: q_rotated, k_rotated where the layer rotates, out.
Port own_port(const Vectors& vectors, DType dtype, const Spoil& spoil = {});

// Angles in float, then q_rotated, k_rotated, scores (behind the mask, -inf) and out, each operation rounded to the
// dtype; the softmax in float. Of layers with RoPE, ALiBi, a soft cap and sinks.
Port eager_port(const Vectors& vectors, DType dtype, const Spoil& spoil = {});
bool is_eager(const LayerPlan& layer);

}  // namespace posenc::test
