// Projects tables of relative embeddings, W_h r_n + b_h for every place n and head h (Transformer-XL's W_kR, DeBERTa's
// shared q and k projections), by the kernel that multiplies attention's tiles, in blocks that stay in L1.
#include "cpu/attend/place_vectors.h"

#include <algorithm>

#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Of a product: the weights of so many inputs, and 3 registers of outputs, fill three quarters of an L1 cache of 32
// KiB, and are put into columns once for so many rows, whose sums stay in the second.
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kRows = 512;

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

// Some outputs of one head at a time: where one thread works.
class BlockProjector {
 public:
  BlockProjector(const kernels::AttentionKernels& kernels, const HeadProjection& by, const float* rows,
                 std::int64_t count)
      : kernels_(kernels),
        by_(by),
        rows_(rows),
        count_(count),
        columns_(index(kDepth * widest())),
        sums_(index(std::min(count, kRows) * widest())),
        ones_(index(widest()), 1.0F) {}

  // Outputs first .. first + used - 1 of all rows; `to` is the first of row 0.
  void project(std::int64_t first, std::int64_t used, float* to) {
    const std::int64_t lanes = (used + kernels_.register_lanes - 1) / kernels_.register_lanes * kernels_.register_lanes;
    for (std::int64_t row = 0; row < count_; row += kRows) {
      const std::int64_t some = std::min(kRows, count_ - row);
      for (std::int64_t k = 0; k < by_.width; k += kDepth) {
        const std::int64_t depth = std::min(kDepth, by_.width - k);
        put_into_columns(first, used, k, depth, lanes);
        kernels_.product({.a = rows_ + row * by_.width + k,
                          .a_row = by_.width,
                          .a_step = 1,
                          .b = columns_.data(),
                          .c = sums_.data(),
                          .scale = k == 0 ? nullptr : ones_.data(),
                          .rows = some,
                          .depth = depth,
                          .lanes = lanes});
      }
      for (std::int64_t n = 0; n < some; ++n) {
        for (std::int64_t l = 0; l < used; ++l) {
          const float bias = by_.bias == nullptr ? 0.0F : by_.bias[first + l];
          to[(row + n) * by_.channels + l] = sums_[index(n * lanes + l)] + bias;
        }
      }
    }
  }

 private:
  std::int64_t widest() const { return kernels::kLaneRegisters * kernels_.register_lanes; }
  // Outputs become lanes; those beyond `used` hold whatever was there, and their sums are not written.
  void put_into_columns(std::int64_t first, std::int64_t used, std::int64_t k, std::int64_t depth, std::int64_t lanes) {
    for (std::int64_t l = 0; l < used; ++l) {
      const float* const from = by_.weight + (first + l) * by_.width + k;
      for (std::int64_t n = 0; n < depth; ++n) columns_[index(n * lanes + l)] = from[n];
    }
  }

  const kernels::AttentionKernels& kernels_;
  const HeadProjection& by_;
  const float* rows_;
  std::int64_t count_;
  std::vector<float> columns_;  // [kDepth][lanes]
  std::vector<float> sums_;     // [rows][lanes]
  std::vector<float> ones_;
};

}  // namespace

// A task is as many outputs of one head as a product has lanes, for all rows.
void project(const kernels::AttentionKernels& kernels, const Parallel& parallel, const HeadProjection& by,
             const float* rows, std::int64_t count, float* out, std::int64_t head_stride) {
  const std::int64_t lanes = kernels::kLaneRegisters * kernels.register_lanes;
  const std::int64_t blocks_of_head = (by.channels + lanes - 1) / lanes;
  const std::int64_t blocks = by.heads * blocks_of_head;
  std::vector<BlockProjector> workers;
  for (std::int64_t w = std::min(threads_of(parallel), blocks); w > 0; --w) {
    workers.emplace_back(kernels, by, rows, count);
  }
  run_tasks(parallel, workers, blocks, [&](BlockProjector& worker, std::int64_t n) noexcept {
    const std::int64_t head = n / blocks_of_head;
    const std::int64_t channel = n % blocks_of_head * lanes;
    worker.project(head * by.channels + channel, std::min(lanes, by.channels - channel),
                   out + head * head_stride + channel);
  });
}

std::vector<float> floats_of(const ConstTensorView& view) {
  const Floats all(view);
  return all.data() == nullptr ? std::vector<float>() : std::vector<float>(all.data(), all.data() + all.count());
}

std::vector<float> floats_of(const math::PlaceVectors& vectors, std::int64_t heads, std::int64_t channels,
                             const kernels::AttentionKernels& kernels, const Parallel& parallel) {
  if (!vectors.values.empty()) return {vectors.values.begin(), vectors.values.end()};
  const Floats rows(vectors.rows);
  const Floats weight(vectors.projection.weight);
  const Floats bias(vectors.projection.bias);
  std::vector<float> out(index(heads * vectors.count * channels));
  project(kernels, parallel,
          {.heads = heads,
           .channels = channels,
           .width = vectors.rows.shape[1],
           .weight = weight.data(),
           .bias = bias.data()},
          rows.data(), vectors.count, out.data(), vectors.count * channels);
  return out;
}

}  // namespace posenc::cpu
