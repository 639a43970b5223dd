// Projects tables of relative embeddings, W_h r_n + b_h for every place n and head h (Transformer-XL's W_kR, DeBERTa's
// shared q and k projections), by the kernel that multiplies attention's tiles.
#include "cpu/attend/place_vectors.h"

#include <algorithm>

#include "cpu/attend/panels.h"
#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Rows that are put into columns at a time: beside a block of weights they stay in L2, and the weights are read once.
constexpr std::int64_t kRows = 512;
// Outputs of a head that are a task.
constexpr std::int64_t kOutputs = 64;

bool is_dense(const ConstTensorView& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank; axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    if (view.shape[a] > 1 && view.strides[a] != stride) return false;
    stride *= view.shape[a];
  }
  return true;
}

// Some outputs of one head at a time, of all rows: where one thread works. Outputs are rows of the product, which are
// read as they lie; what is projected is its columns.
class BlockProjector {
 public:
  BlockProjector(const HeadProjection& by, std::int64_t width)
      : by_(by), width_(width), sums_(index(kOutputs * width)), copy_(index(kOutputs * Panels::kDepth)) {}

  // Outputs first .. first + used - 1; `to` is the first of row 0.
  void project(const Panels& rows, std::int64_t count, std::int64_t first, std::int64_t used, float* to) {
    rows.multiply({.a = by_.weight + first * by_.width,
                   .a_row = by_.width,
                   .a_step = 1,
                   .rows = used,
                   .c = sums_.data(),
                   .c_row = width_,
                   .copy = copy_.data()});
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t l = 0; l < used; ++l) {
        const float bias = by_.bias == nullptr ? 0.0F : by_.bias[first + l];
        to[n * by_.channels + l] = sums_[index(l * width_ + n)] + bias;
      }
    }
  }

 private:
  const HeadProjection& by_;
  std::int64_t width_;
  std::vector<float, LineAllocator<float>> sums_;  // [kOutputs][width]
  std::vector<float> copy_;                        // [kOutputs][kDepth]
};

}  // namespace

DenseFloats::DenseFloats(const ConstTensorView& view) {
  if (view.empty()) return;
  count_ = 1;
  for (int axis = 0; axis < view.rank; ++axis) count_ *= view.shape[static_cast<std::size_t>(axis)];
  data_ = static_cast<const float*>(view.data);
  if (view.dtype == DType::f32 && is_dense(view)) return;
  const std::vector<double> all = read_all(view);
  copy_.assign(all.begin(), all.end());
  data_ = copy_.data();
}

void project(const kernels::AttentionKernels& kernels, const Parallel& parallel, const HeadProjection& by,
             const float* rows, std::int64_t count, float* out, std::int64_t head_stride) {
  const std::int64_t blocks_of_head = (by.channels + kOutputs - 1) / kOutputs;
  const std::int64_t blocks = by.heads * blocks_of_head;
  Panels columns(kernels);
  std::vector<BlockProjector> workers;
  for (std::int64_t row = 0; row < count; row += kRows) {
    const std::int64_t some = std::min(kRows, count - row);
    columns.fill({.from = rows + row * by.width, .row = 1, .step = by.width, .depth = by.width, .columns = some});
    while (std::ssize(workers) < std::min(threads_of(parallel), blocks)) workers.emplace_back(by, columns.width());
    run_tasks(parallel, workers, blocks, [&](BlockProjector& worker, std::int64_t n) noexcept {
      const std::int64_t head = n / blocks_of_head;
      const std::int64_t channel = n % blocks_of_head * kOutputs;
      worker.project(columns, some, head * by.channels + channel, std::min(kOutputs, by.channels - channel),
                     out + head * head_stride + row * by.channels + channel);
    });
  }
}

PlaceSpan both(const PlaceSpan& a, const PlaceSpan& b) {
  if (a.count() == 0) return b;
  if (b.count() == 0) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

PlaceSpan span_of(std::span<const std::int32_t> places) {
  PlaceSpan out;
  for (const std::int32_t place : places) {
    if (place >= 0) out = both(out, {place, place});
  }
  return out;
}

std::vector<float> floats_of(const ConstTensorView& view) {
  const DenseFloats all(view);
  return all.data() == nullptr ? std::vector<float>() : std::vector<float>(all.data(), all.data() + all.count());
}

std::vector<float> floats_of(const math::PlaceVectors& vectors, const PlaceSpan& span, std::int64_t heads,
                             std::int64_t channels, const kernels::AttentionKernels& kernels,
                             const Parallel& parallel) {
  if (!vectors.values.empty()) return {vectors.values.begin(), vectors.values.end()};
  const DenseFloats rows(vectors.rows);
  const DenseFloats weight(vectors.projection.weight);
  const DenseFloats bias(vectors.projection.bias);
  std::vector<float> out(index(heads * vectors.count * channels));
  const std::int64_t width = vectors.rows.shape[1];
  project(kernels, parallel,
          {.heads = heads, .channels = channels, .width = width, .weight = weight.data(), .bias = bias.data()},
          rows.data() + span.low * width, span.count(), out.data() + span.low * channels, vectors.count * channels);
  return out;
}

}  // namespace posenc::cpu
