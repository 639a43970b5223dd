// One token's gradients out of its slot: of keys through R^T and the transpose of the norm, of values as they are.
// Formulas: posenc/cache/backward.h.
#include "cpu/cache/row_gradients.h"

#include <algorithm>

namespace posenc::cpu {
namespace {

bool is_over_all_heads(const CacheBackwardCall& call) {
  return call.args.norm && call.args.norm->scheme.over == QkNorm::Over::all_heads;
}

// Heads that are in scratch together: those that one norm is over, else as many as it holds, or one.
std::int64_t heads_together(const CacheBackwardCall& call, std::int64_t values) {
  const std::int64_t heads = call.cache.k_cache.heads;
  if (is_over_all_heads(call)) return heads;
  return std::min(heads, std::max<std::int64_t>(1, values / std::max<std::int64_t>(1, call.cache.head_dim)));
}

std::int64_t scratch_floats(const CacheBackwardCall& call, std::int64_t values) {
  return heads_together(call, values) * call.cache.head_dim;
}

std::int64_t weights_of(const CacheBackwardCall& call) { return call.args.norm ? size_of(call.args.norm->weight) : 0; }

// `count` elements of each of some heads are 0, which in every dtype is all bits 0.
void clear_heads(const Heads& of, void* to, std::int64_t heads, std::int64_t count) {
  for (std::int64_t h = 0; h < heads; ++h) {
    std::memset(moved(to, h * of.head * of.element_bytes), 0, static_cast<std::size_t>(count * of.element_bytes));
  }
}

void* written_row(const HeadsView& x, const RotateCall& call, std::int64_t row) {
  return moved(x.to, row_offset(x.to_strides, call, row) * x.element_bytes);
}

}  // namespace

RowGradients::RowGradients(const CacheBackwardCall& call, const kernels::KernelTable& kernels)
    : call_(call),
      kernels_(kernels),
      head_dim_(call.cache.head_dim),
      heads_at_once_(heads_together(call, kValues)),
      d_(scratch_floats(call, kValues)),
      keys_(scratch_floats(call, kValues)),
      sums_(2 * scratch_floats(call, kValues)),
      weights_(weights_of(call)) {
  const std::optional<KeyNorm>& norm = call.args.norm;
  if (norm) weight_ = as_floats(kernels, norm->weight, norm->weight_plus_one, weights_.data());
}

bool RowGradients::allocates(const CacheBackwardCall& call) noexcept {
  return scratch_floats(call, kValues) > kValues || weights_of(call) > kValues;
}

void RowGradients::pass_back(std::int64_t row, std::int64_t count, const float* const* cos, double* d_weight,
                             double* d_bias) {
  if (call_.reads_keys()) pass_keys(row, count, cos, d_weight, d_bias);
  if (call_.d_v.to != nullptr) pass_values(row, count);
}

// Some heads of all of the tokens at a time, so that their sums stay in L1.
void RowGradients::pass_keys(std::int64_t row, std::int64_t count, const float* const* cos, double* d_weight,
                             double* d_bias) {
  const std::int64_t all = call_.cache.k_cache.heads;
  const bool sums = d_weight != nullptr || d_bias != nullptr;
  for (std::int64_t first = 0; first < all; first += heads_at_once_) {
    const std::int64_t heads = std::min(heads_at_once_, all - first);
    const std::int64_t floats = heads * head_dim_;
    if (sums) std::fill_n(sums_.data(), 2 * floats, 0.0F);
    for (std::int64_t t = 0; t < count; ++t) {
      pass_key(row + t, cos == nullptr ? nullptr : cos + t, first, heads, sums);
    }
    if (d_weight != nullptr) add_up(sums_.data(), first, heads, d_weight);
    if (d_bias != nullptr) add_up(sums_.data() + floats, first, heads, d_bias);
  }
}

void RowGradients::pass_key(std::int64_t row, const float* const* cos, std::int64_t first_head, std::int64_t heads,
                            bool sums) {
  const CacheCall& cache = call_.cache;
  const Heads written = written_heads(call_.d_k);
  void* const to = call_.d_k.to == nullptr ? nullptr
                                           : moved(written_row(call_.d_k, cache.rows, row),
                                                   first_head * written.head * written.element_bytes);
  const std::int64_t slot = call_.args.slots[static_cast<std::size_t>(row)];
  if (slot < 0) {
    if (to != nullptr) clear_heads(written, to, heads, head_dim_);
    return;
  }
  const Heads scratch = in_scratch(head_dim_);
  const Heads given = written_heads(cache.k_cache);
  float* const d = d_.data();
  float* const k = keys_.data();
  const auto rotate = [&](float* x, float sin_scale) {
    if (cos == nullptr) return;
    rotate_heads(kernels_, cache.rotating, kernels::Element::f32, x, head_dim_, x, head_dim_, heads, cos, sin_scale);
  };
  move_heads(kernels_, given, moved(place_of(cache.k_cache, slot), first_head * given.head * given.element_bytes),
             scratch, d, heads, head_dim_);
  const std::optional<KeyNorm>& norm = call_.args.norm;
  const bool norm_last = norm && norm->scheme.order == QkNorm::Order::after;
  if (!norm_last) rotate(d, -1.0F);
  if (norm) {
    const HeadsView& keys = cache.rows.tensors[1];
    const Heads read = read_heads(keys);
    move_heads(kernels_, read, moved(row_of(keys, cache.rows, row), first_head * read.head * read.element_bytes),
               scratch, k, heads, head_dim_);
    if (norm_last) rotate(k, 1.0F);
    kernels_.normalise_backward({.norm = norm_rows(*norm, first_head, heads, head_dim_, k, weight_, nullptr),
                                 .d = d,
                                 .d_weight = sums ? sums_.data() : nullptr,
                                 .d_bias = sums ? sums_.data() + heads * head_dim_ : nullptr,
                                 .sums_row = head_dim_});
  }
  if (norm_last) rotate(d, -1.0F);
  if (to != nullptr) move_heads(kernels_, scratch, d, written, to, heads, head_dim_);
}

void RowGradients::pass_values(std::int64_t row, std::int64_t count) {
  const CacheCall& cache = call_.cache;
  const Heads written = written_heads(call_.d_v);
  for (std::int64_t t = row; t < row + count; ++t) {
    const std::int64_t slot = call_.args.slots[static_cast<std::size_t>(t)];
    void* const to = written_row(call_.d_v, cache.rows, t);
    if (slot < 0) {
      clear_heads(written, to, call_.d_v.heads, cache.value_dim);
      continue;
    }
    move_heads(kernels_, written_heads(cache.v_cache), place_of(cache.v_cache, slot), written, to, call_.d_v.heads,
               cache.value_dim);
  }
}

// Sums of each head to those of a weight of all heads, or of one that all heads have.
void RowGradients::add_up(const float* of_heads, std::int64_t first_head, std::int64_t heads, double* sums) const {
  const bool each_its_own = weights_of(call_) > head_dim_;
  for (std::int64_t h = 0; h < heads; ++h) {
    double* const own = each_its_own ? sums + (first_head + h) * head_dim_ : sums;
    for (std::int64_t c = 0; c < head_dim_; ++c) own[c] += static_cast<double>(of_heads[h * head_dim_ + c]);
  }
}

}  // namespace posenc::cpu
