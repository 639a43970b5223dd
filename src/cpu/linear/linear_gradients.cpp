// Chunks of queries and keys in the backward pass of linear attention; linear_gradients.h has the loops.
#include "cpu/linear/linear_gradients.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/call/row_floats.h"
#include "cpu/linear/linear_unit.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Some 100 us each.
constexpr std::int64_t kHeadsUntilPassAsked = 8;

double dot(const float* a, const float* b, std::int64_t count) {
  double sums[4] = {};
  std::int64_t c = 0;
  for (; c + 4 <= count; c += 4) {
    for (std::int64_t n = 0; n < 4; ++n) sums[n] += static_cast<double>(a[c + n]) * static_cast<double>(b[c + n]);
  }
  for (; c < count; ++c) sums[0] += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add_multiple(float factor, const float* x, std::int64_t count, float* to) {
  for (std::int64_t c = 0; c < count; ++c) to[c] += factor * x[c];
}

// d *= f'(x), by f(x): below 0 elu(x) + 1 is its own derivative, and less than that above, which is 1; where ReLU is
// above 0, its is 1.
void multiply_derivative(kernels::Feature feature, const float* features, std::int64_t count, float* d) {
  switch (feature) {
    case kernels::Feature::identity: return;
    case kernels::Feature::relu:
      for (std::int64_t c = 0; c < count; ++c) d[c] = features[c] > 0.0F ? d[c] : 0.0F;
      return;
    case kernels::Feature::elu_plus_one:
      for (std::int64_t c = 0; c < count; ++c) d[c] *= std::min(features[c], 1.0F);
      return;
  }
}

// [count][row] to [channels][kChunkRows], zeros behind them.
void put_in_lanes(const float* rows, std::int64_t row, std::int64_t count, std::int64_t channels, float* lanes) {
  for (std::int64_t c = 0; c < channels; ++c) {
    float* const to = lanes + c * kChunkRows;
    for (std::int64_t r = 0; r < count; ++r) to[r] = rows[r * row + c];
    std::fill(to + count, to + kChunkRows, 0.0F);
  }
}

}  // namespace

std::int64_t LinearGradients::Chunk::seen(std::int64_t r) const {
  return std::clamp<std::int64_t>(r - before + 1, 0, keys);
}

LinearGradients::LinearGradients(const LinearBackward& backward, KeepGoing& keep_going)
    : backward_(backward),
      call_(backward.call),
      keep_going_(keep_going),
      is_causal_(backward.call.layer.mask.kind == MaskKind::causal),
      key_width_(whole(backward.call.layer.head_dim, backward.call.attention.register_lanes)),
      value_width_(whole(backward.call.layer.value_dim, backward.call.attention.register_lanes)),
      keys_(backward.call, backward.feature, kChunkRows),
      queries_(backward.call, backward.feature, kChunkRows),
      rotations_(backward.call, std::pmr::new_delete_resource()),
      ones_(index(kMaxLanes), 1.0F) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t values = call_.layer.value_dim;
  for (Floats* x : {&k_, &q_, &d_q_}) x->resize(index(kChunkRows * key_width_));
  for (Floats* x : {&v_, &dn_}) x->resize(index(kChunkRows * value_width_));
  for (Floats* x : {&k_lanes_, &d_k_lanes_}) x->resize(index(channels * kChunkRows));
  for (Floats* x : {&v_lanes_, &d_v_lanes_}) x->resize(index(values * kChunkRows));
  for (Floats* x : {&weights_, &of_weights_}) x->resize(index(kChunkRows * kChunkRows));
  for (Floats* x : {&sum_, &sum_of_queries_, &sum_of_chunk_}) x->resize(index(values * key_width_));
  for (Floats* x : {&running_, &running_of_queries_, &of_features_}) x->resize(index(channels));
  for (Floats* x : {&d_features_, &rows_, &given_, &scratch_}) {
    x->resize(index(kChunkRows * std::max(key_width_, value_width_)));
  }
  std::int64_t longest = 0;
  for (const math::SequenceRows& sequence : call_.rows.sequences) longest = std::max(longest, sequence.q_count);
  for (Floats* x : {&totals_, &d_totals_}) x->resize(index(call_.group * longest));
  zeros_.resize(index(std::max(key_width_, value_width_)));
}

// 0 x is NaN where x is not finite.
bool LinearGradients::are_finite(const float* x, std::int64_t rows, std::int64_t width) {
  std::array<float, kChunkRows> sums;
  call_.attention.running_totals(
      {.q = x, .before = zeros_.data(), .sum = zeros_.data(), .totals = sums.data(), .rows = rows, .width = width});
  return std::all_of(sums.begin(), sums.begin() + rows, [](float sum) { return sum == 0.0F; });
}

bool LinearGradients::is_wanted() {
  if (++heads_since_asked_ < kHeadsUntilPassAsked) return true;
  heads_since_asked_ = 0;
  return keep_going_();
}

float& LinearGradients::total(std::int64_t head, std::int64_t row) {
  return totals_[index((head - kv_head_ * call_.group) * sequence_->q_count + row)];
}

float& LinearGradients::of_total(std::int64_t head, std::int64_t row) {
  return d_totals_[index((head - kv_head_ * call_.group) * sequence_->q_count + row)];
}

// As LinearWorker::attend has them: the queries' first keys, where there are more keys, are those of all rows; where
// there are fewer, the first rows have none.
LinearGradients::Chunk LinearGradients::chunk_at(std::int64_t row) const {
  Chunk chunk{.row = row, .rows = std::min(kChunkRows, sequence_->q_count - row)};
  if (!is_causal_) return chunk;
  const std::int64_t apart = sequence_->k_count - sequence_->q_count;
  chunk.key = std::max<std::int64_t>(row + apart, 0);
  chunk.before = chunk.key - (row + apart);
  chunk.keys = std::max<std::int64_t>(chunk.rows - chunk.before, 0);
  return chunk;
}

void LinearGradients::run(std::int64_t sequence, std::int64_t kv_head, FrequencySums* frequencies) {
  sequence_ = &call_.rows.sequences[index(sequence)];
  kv_head_ = kv_head;
  frequencies_ = frequencies;
  const math::SequenceRows& s = *sequence_;
  const std::int64_t heads = kv_head * call_.group;
  const std::int64_t prompt = is_causal_ ? std::max<std::int64_t>(s.k_count - s.q_count, 0) : s.k_count;
  for (Floats* x : {&totals_, &d_totals_}) std::ranges::fill(*x, 0.0F);
  for (Floats* x : {&sum_, &running_, &sum_of_queries_, &running_of_queries_}) std::ranges::fill(*x, 0.0F);
  for (std::int64_t first = 0; first < prompt; first += kChunkRows) {
    if (!is_wanted()) return;
    const std::int64_t count = std::min(kChunkRows, prompt - first);
    read_keys(first, count);
    add_keys(count);
  }
  for (std::int64_t row = 0; row < s.q_count; row += kChunkRows) {
    const Chunk chunk = chunk_at(row);
    read_keys(chunk.key, chunk.keys);
    for (std::int64_t g = 0; g < call_.group; ++g) {
      if (!is_wanted()) return;
      pass_queries(chunk, heads + g);
    }
    add_keys(chunk.keys);
  }
  if (!backward_.wants_keys()) return;
  for (std::int64_t end = s.q_count; end > 0;) {
    const Chunk chunk = chunk_at((end - 1) / kChunkRows * kChunkRows);
    end = chunk.row;
    read_keys(chunk.key, chunk.keys);
    begin_keys(chunk.keys);
    for (std::int64_t g = 0; g < call_.group; ++g) {
      if (!is_wanted()) return;
      pass_keys(chunk, heads + g);
    }
    finish_keys(chunk.key, chunk.keys);
  }
  for (std::int64_t first = 0; first < prompt; first += kChunkRows) {
    if (!is_wanted()) return;
    const std::int64_t count = std::min(kChunkRows, prompt - first);
    read_keys(first, count);
    begin_keys(count);
    finish_keys(first, count);
  }
}

// ---- rows of the call ----

void LinearGradients::read_keys(std::int64_t first, std::int64_t count) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t values = call_.layer.value_dim;
  const std::int64_t row = sequence_->k_first + first;
  if (count == 0) return;
  keys_.read(math::Side::key, row, kv_head_, count);
  for (std::int64_t r = 0; r < count; ++r) {
    std::copy_n(keys_.rotated() + r * channels, channels, k_.data() + r * key_width_);
    read_floats(call_.kernels, call_.v.element, call_.v.at(row + r, kv_head_), values, v_.data() + r * value_width_);
  }
  keys_are_finite_ = are_finite(k_.data(), count, key_width_) && are_finite(keys_.plain(), count, channels);
  put_in_lanes(k_.data(), key_width_, count, channels, k_lanes_.data());
  put_in_lanes(v_.data(), value_width_, count, values, v_lanes_.data());
}

void LinearGradients::read_queries(const Chunk& chunk, std::int64_t head) {
  const std::int64_t channels = call_.layer.head_dim;
  queries_.read(math::Side::query, sequence_->q_first + chunk.row, head, chunk.rows);
  for (std::int64_t r = 0; r < chunk.rows; ++r) {
    std::copy_n(queries_.rotated() + r * channels, channels, q_.data() + r * key_width_);
  }
}

// dn = d_out / t; 0 where t is, whatever d_out is, and q~ too, as it meets nothing.
void LinearGradients::divide_gradients(const Chunk& chunk, std::int64_t head) {
  const std::int64_t values = call_.layer.value_dim;
  for (std::int64_t r = 0; r < chunk.rows; ++r) {
    float* const row = dn_.data() + r * value_width_;
    const float t = total(head, chunk.row + r);
    if (t == 0.0F) {
      std::fill_n(row, values, 0.0F);
      std::fill_n(q_.data() + r * key_width_, call_.layer.head_dim, 0.0F);
      continue;
    }
    const std::int64_t at = sequence_->q_first + chunk.row + r;
    const float* given = row;
    if (backward_.d_out.element == kernels::Element::f32) {
      given = static_cast<const float*>(backward_.d_out.at(at, head));
    } else {
      read_floats(call_.kernels, backward_.d_out.element, backward_.d_out.at(at, head), values, row);
    }
    if (const float by = 1.0F / t; std::isfinite(by)) {
      for (std::int64_t c = 0; c < values; ++c) row[c] = given[c] * by;
    } else {  // of a small total
      const auto small = static_cast<double>(t);
      for (std::int64_t c = 0; c < values; ++c) row[c] = static_cast<float>(static_cast<double>(given[c]) / small);
    }
  }
  queries_are_finite_ =
      are_finite(dn_.data(), chunk.rows, value_width_) && are_finite(q_.data(), chunk.rows, key_width_);
}

void LinearGradients::write(const float* row, std::int64_t channels, const RowsView& to, std::int64_t at,
                            std::int64_t head) const {
  if (to.data == nullptr) return;
  write_floats(call_.kernels, row, channels, to.element, const_cast<void*>(to.at(at, head)));
}

// ---- products ----

void LinearGradients::multiply(const Operand& a, const float* b, std::int64_t b_row, float* c, std::int64_t c_row,
                               std::int64_t rows, std::int64_t depth, std::int64_t width, bool adds) const {
  for (std::int64_t lane = 0; lane < width; lane += call_.max_lanes) {
    call_.attention.product({.a = a.data,
                             .a_row = a.row,
                             .a_step = a.step,
                             .b = b + lane,
                             .c = c + lane,
                             .scale = adds ? ones_.data() : nullptr,
                             .rows = rows,
                             .depth = depth,
                             .lanes = std::min(call_.max_lanes, width - lane),
                             .b_row = b_row,
                             .c_row = c_row});
  }
}

// sum_of_chunk_, which is as large. A chunk is summed by itself first: of n rows a sum then has 48 + n / 48 roundings
// one after another instead of n.
void LinearGradients::add_to_sum(Floats& sum) const {
  const std::int64_t lanes = call_.attention.register_lanes;
  call_.attention.add_rows({.to = {.scores = sum.data(), .keys = std::ssize(sum) / lanes, .lanes = lanes},
                            .added = sum_of_chunk_.data(),
                            .step = lanes});
}

void LinearGradients::clear_unseen(const Chunk& chunk, Floats& matrix) const {
  for (std::int64_t r = 0; r < chunk.rows; ++r) {
    std::fill_n(matrix.data() + r * kChunkRows + chunk.seen(r), kChunkRows - chunk.seen(r), 0.0F);
  }
}

void LinearGradients::multiply_values(const Chunk& chunk) {
  multiply({dn_.data(), value_width_, 1}, v_lanes_.data(), kChunkRows, of_weights_.data(), kChunkRows, chunk.rows,
           call_.layer.value_dim, kChunkRows, false);
  clear_unseen(chunk, of_weights_);
}

// ---- queries ----

void LinearGradients::add_keys(std::int64_t count) {
  if (count == 0) return;
  const std::int64_t channels = call_.layer.head_dim;
  multiply({v_.data(), 1, value_width_}, k_.data(), key_width_, sum_of_chunk_.data(), key_width_, call_.layer.value_dim,
           count, key_width_, false);
  add_to_sum(sum_);
  std::ranges::fill(of_features_, 0.0F);
  for (std::int64_t m = 0; m < count; ++m) {
    add_multiple(1.0F, keys_.plain() + m * channels, channels, of_features_.data());
  }
  add_multiple(1.0F, of_features_.data(), channels, running_.data());
}

void LinearGradients::pass_queries(const Chunk& chunk, std::int64_t head) {
  read_queries(chunk, head);
  sum_totals(chunk, head);
  divide_gradients(chunk, head);
  multiply({dn_.data(), value_width_, 1}, sum_.data(), key_width_, d_q_.data(), key_width_, chunk.rows,
           call_.layer.value_dim, key_width_, false);
  if (chunk.keys > 0) {
    multiply_values(chunk);
    if (keys_are_finite_) {
      multiply({of_weights_.data(), kChunkRows, 1}, k_.data(), key_width_, d_q_.data(), key_width_, chunk.rows,
               chunk.keys, key_width_, true);
    } else {  // a key that is not seen may be NaN: each row ends before it, and its sum is the same
      for (std::int64_t r = 0; r < chunk.rows; ++r) {
        multiply({of_weights_.data() + r * kChunkRows, kChunkRows, 1}, k_.data(), key_width_,
                 d_q_.data() + r * key_width_, key_width_, 1, chunk.seen(r), key_width_, true);
      }
    }
  }
  finish_queries(chunk, head);
  if (!is_causal_ && backward_.wants_keys()) add_queries(chunk, head);
}

// t = q . z: of rows before the first key, of what came before the chunk; a query times no keys is 0 even where the
// query is not finite.
void LinearGradients::sum_totals(const Chunk& chunk, std::int64_t head) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t none = chunk.keys == 0 ? chunk.rows : std::min(chunk.before, chunk.rows);
  std::ranges::fill(of_features_, 0.0F);
  kernels::RunningTotals of{.q = queries_.plain(),
                            .before = running_.data(),
                            .sum = of_features_.data(),
                            .totals = &total(head, chunk.row),
                            .rows = none,
                            .width = channels};
  call_.attention.running_totals(of);
  of.q += none * channels;
  of.k = keys_.plain();
  of.totals += none;
  of.rows = chunk.rows - none;
  call_.attention.running_totals(of);
  const std::int64_t unseeing = sequence_->k_count == 0 ? chunk.rows : std::min(chunk.before, chunk.rows);
  std::fill_n(&total(head, chunk.row), unseeing, 0.0F);
}

// dt, and from the gradients of rotated features to those of q.
void LinearGradients::finish_queries(const Chunk& chunk, std::int64_t head) {
  const std::int64_t channels = call_.layer.head_dim;
  for (std::int64_t r = 0; r < chunk.rows; ++r) {
    const float t = total(head, chunk.row + r);
    float* const d = d_q_.data() + r * key_width_;
    if (t == 0.0F) std::fill_n(d, channels, 0.0F);
    const double sum = t == 0.0F ? 0.0 : -dot(q_.data() + r * key_width_, d, channels) / static_cast<double>(t);
    of_total(head, chunk.row + r) = static_cast<float>(sum);
  }
  const std::int64_t first = sequence_->q_first + chunk.row;
  for (std::int64_t r = 0; frequencies_ != nullptr && r < chunk.rows; ++r) {
    float* const row = given_.data() + r * key_width_;
    std::copy_n(queries_.plain() + r * channels, channels, row);
    if (total(head, chunk.row + r) == 0.0F) std::fill_n(row, channels, 0.0F);
  }
  rotations_.place(RowRotations::Of::queries, first, chunk.rows, nullptr);
  rotations_.rotate_back(d_q_.data(), key_width_, given_.data(), scratch_.data(), frequencies_);
  std::ranges::copy(running_, of_features_.begin());
  for (std::int64_t r = 0; r < chunk.rows; ++r) {
    if (r >= chunk.before && r - chunk.before < chunk.keys) {
      add_multiple(1.0F, keys_.plain() + (r - chunk.before) * channels, channels, of_features_.data());
    }
    float* const d = d_q_.data() + r * key_width_;
    if (total(head, chunk.row + r) != 0.0F) {
      add_multiple(of_total(head, chunk.row + r), of_features_.data(), channels, d);
      multiply_derivative(backward_.feature, queries_.plain() + r * channels, channels, d);
    }
    write(d, channels, backward_.d_q, first + r, head);
  }
}

// ---- keys ----

// What queries of later chunks give: d_k~ = G v, d_v = G^T k~, in lanes of keys; and g.
void LinearGradients::begin_keys(std::int64_t count) {
  if (count == 0) return;
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t values = call_.layer.value_dim;
  multiply({sum_of_queries_.data(), 1, key_width_}, v_lanes_.data(), kChunkRows, d_k_lanes_.data(), kChunkRows,
           channels, values, kChunkRows, false);
  multiply({sum_of_queries_.data(), key_width_, 1}, k_lanes_.data(), kChunkRows, d_v_lanes_.data(), kChunkRows, values,
           channels, kChunkRows, false);
  for (std::int64_t m = 0; m < count; ++m) {
    std::ranges::copy(running_of_queries_, d_features_.begin() + m * channels);
  }
}

// What a query head's rows of the same chunk give; then they are a part of G and g.
void LinearGradients::pass_keys(const Chunk& chunk, std::int64_t head) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t values = call_.layer.value_dim;
  read_queries(chunk, head);
  divide_gradients(chunk, head);
  if (chunk.keys > 0) {
    multiply_values(chunk);
    multiply({q_.data(), key_width_, 1}, k_lanes_.data(), kChunkRows, weights_.data(), kChunkRows, chunk.rows, channels,
             kChunkRows, false);
    clear_unseen(chunk, weights_);
    const auto add = [&](const Floats& rows, std::int64_t width, const Floats& matrix, std::int64_t count, Floats& to) {
      if (queries_are_finite_) {
        multiply({rows.data(), 1, width}, matrix.data(), kChunkRows, to.data(), kChunkRows, count, chunk.rows,
                 kChunkRows, true);
        return;
      }  // a query that does not see a key may be NaN: the same sums without it
      for (std::int64_t r = 0; r < chunk.rows; ++r) {
        for (std::int64_t c = 0; c < count; ++c) {
          for (std::int64_t m = 0; m < chunk.seen(r); ++m) {
            float& sum = to[index(c * kChunkRows + m)];
            sum = std::fma(rows[index(r * width + c)], matrix[index(r * kChunkRows + m)], sum);
          }
        }
      }
    };
    add(q_, key_width_, of_weights_, channels, d_k_lanes_);
    add(dn_, value_width_, weights_, values, d_v_lanes_);
    std::ranges::fill(of_features_, 0.0F);
    for (std::int64_t r = chunk.rows; r-- > chunk.before;) {
      add_row(chunk, head, r);
      const std::int64_t key = r - chunk.before;
      if (key < chunk.keys) add_multiple(1.0F, of_features_.data(), channels, d_features_.data() + key * channels);
    }
  }
  if (is_causal_) add_queries(chunk, head);
}

// g += dt q, in of_features_.
void LinearGradients::add_row(const Chunk& chunk, std::int64_t head, std::int64_t r) {
  if (total(head, chunk.row + r) == 0.0F) return;
  const std::int64_t channels = call_.layer.head_dim;
  add_multiple(of_total(head, chunk.row + r), queries_.plain() + r * channels, channels, of_features_.data());
}

void LinearGradients::add_queries(const Chunk& chunk, std::int64_t head) {
  multiply({dn_.data(), 1, value_width_}, q_.data(), key_width_, sum_of_chunk_.data(), key_width_,
           call_.layer.value_dim, chunk.rows, key_width_, false);
  add_to_sum(sum_of_queries_);
  std::ranges::fill(of_features_, 0.0F);
  for (std::int64_t r = chunk.rows; r-- > 0;) add_row(chunk, head, r);
  add_multiple(1.0F, of_features_.data(), call_.layer.head_dim, running_of_queries_.data());
}

void LinearGradients::finish_keys(std::int64_t first, std::int64_t count) {
  if (count == 0) return;
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t values = call_.layer.value_dim;
  const std::int64_t row = sequence_->k_first + first;
  const auto put_in_rows = [&](const Floats& lanes, std::int64_t width) {
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::int64_t c = 0; c < width; ++c) rows_[index(m * width + c)] = lanes[index(c * kChunkRows + m)];
    }
  };
  put_in_rows(d_v_lanes_, values);
  for (std::int64_t m = 0; m < count; ++m) {
    write(rows_.data() + m * values, values, backward_.d_v, row + m, kv_head_);
  }
  put_in_rows(d_k_lanes_, channels);
  rotations_.place(RowRotations::Of::keys, row, count, nullptr);
  if (frequencies_ != nullptr) std::copy_n(keys_.plain(), count * channels, given_.data());
  rotations_.rotate_back(rows_.data(), channels, given_.data(), scratch_.data(), frequencies_);
  add_multiple(1.0F, d_features_.data(), count * channels, rows_.data());
  multiply_derivative(backward_.feature, keys_.plain(), count * channels, rows_.data());
  for (std::int64_t m = 0; m < count; ++m) {
    write(rows_.data() + m * channels, channels, backward_.d_k, row + m, kv_head_);
  }
}

}  // namespace posenc::cpu
