#include "cpu/place_vectors.h"

#include <algorithm>

#include "cpu/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kRows = 64;  // of a product: with its lanes they stay in the first cache

bool is_dense(const ConstTensorView& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank; axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    if (view.shape[a] > 1 && view.strides[a] != stride) return false;
    stride *= view.shape[a];
  }
  return true;
}

// All elements of a view, the last axis fastest: the caller's where they lie so and are floats, which a layer's weights
// mostly do, and are too many to be copied. Null of an empty view.
class Floats {
 public:
  explicit Floats(const ConstTensorView& view) {
    if (view.empty()) return;
    count_ = 1;
    for (int axis = 0; axis < view.rank; ++axis) count_ *= view.shape[static_cast<std::size_t>(axis)];
    data_ = static_cast<const float*>(view.data);
    if (view.dtype == DType::f32 && is_dense(view)) return;
    const std::vector<double> all = read_all(view);
    copy_.assign(all.begin(), all.end());
    data_ = copy_.data();
  }
  const float* data() const { return data_; }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_ = 0;
  const float* data_ = nullptr;
  std::vector<float> copy_;
};

}  // namespace

void project(const kernels::AttentionKernels& kernels, const HeadProjection& by, const float* rows, std::int64_t count,
             float* out, std::int64_t head_stride) {
  const std::int64_t lanes = kernels::kLaneRegisters * kernels.register_lanes;
  std::vector<float> columns(index(by.width * lanes));
  std::vector<float> products(index(kRows * lanes));
  for (std::int64_t output = 0; output < by.heads * by.channels;) {
    const std::int64_t channel = output % by.channels;
    const std::int64_t used = std::min(lanes, by.channels - channel);
    for (std::int64_t l = 0; l < used; ++l) {
      for (std::int64_t k = 0; k < by.width; ++k) {
        columns[index(k * lanes + l)] = by.weight[(output + l) * by.width + k];
      }
    }
    float* const to = out + output / by.channels * head_stride + channel;
    for (std::int64_t first = 0; first < count; first += kRows) {
      const std::int64_t some = std::min(kRows, count - first);
      kernels.product({.a = rows + first * by.width,
                       .a_row = by.width,
                       .a_step = 1,
                       .b = columns.data(),
                       .c = products.data(),
                       .rows = some,
                       .depth = by.width,
                       .lanes = lanes});
      for (std::int64_t n = 0; n < some; ++n) {
        for (std::int64_t l = 0; l < used; ++l) {
          const float bias = by.bias == nullptr ? 0.0F : by.bias[output + l];
          to[(first + n) * by.channels + l] = products[index(n * lanes + l)] + bias;
        }
      }
    }
    output += used;
  }
}

std::vector<float> floats_of(const ConstTensorView& view) {
  const Floats all(view);
  return all.data() == nullptr ? std::vector<float>() : std::vector<float>(all.data(), all.data() + all.count());
}

std::vector<float> floats_of(const math::PlaceVectors& vectors, std::int64_t heads, std::int64_t channels,
                             const kernels::AttentionKernels& kernels) {
  if (!vectors.values.empty()) return {vectors.values.begin(), vectors.values.end()};
  const Floats rows(vectors.rows);
  const Floats weight(vectors.projection.weight);
  const Floats bias(vectors.projection.bias);
  std::vector<float> out(index(heads * vectors.count * channels));
  project(kernels,
          {.heads = heads,
           .channels = channels,
           .width = vectors.rows.shape[1],
           .weight = weight.data(),
           .bias = bias.data()},
          rows.data(), vectors.count, out.data(), vectors.count * channels);
  return out;
}

}  // namespace posenc::cpu
