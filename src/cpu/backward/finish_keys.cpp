// Sums of keys' gradients: one for each region, and one of keys as given where terms have met those. A task is some
// tiles of a KV head.
#include "cpu/backward/finish_keys.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "cpu/attend/arena.h"
#include "cpu/attend/key_tile.h"
#include "cpu/call/row_floats.h"
#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kTilesOfTask = 16;

void begin_sums(const BackwardCall& backward, KeySums& sums, const TensorView& asked, bool is_last,
                std::int64_t channels) {
  sums.is_asked = true;
  const std::int64_t rows = backward.call.lowered.k_rows;
  const std::int64_t heads = backward.call.layer.kv_heads;
  if (is_last && !asked.empty() && asked.dtype == DType::f32) {
    sums.at = rows_view(asked);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < heads; ++head) std::fill_n(sums.row(row, head), channels, 0.0F);
    }
    return;
  }
  sums.own.assign(index(rows * heads * channels), 0.0F);
  sums.at = {.data = reinterpret_cast<const char*>(sums.own.data()),
             .element = kernels::Element::f32,
             .bytes = sizeof(float),
             .tokens = std::max<std::int64_t>(rows, 1),
             .batch_stride = 0,
             .row_stride = heads * channels,
             .head_stride = channels};
}

struct KeyTask {
  std::size_t sequence;
  std::int64_t kv_head;
  std::int64_t first_tile;
};

// One thread's.
class KeyFinisher {
 public:
  KeyFinisher(const BackwardCall& backward, std::pmr::memory_resource* memory)
      : backward_(backward), call_(backward.call), angles_(backward.call, memory), tile_(backward.call, memory) {
    const std::size_t rows = index(kTileKeys * std::max(backward.key_width, backward.value_width));
    sum_.resize(rows);
    rows_.resize(rows);
    given_.resize(rows);
    scratch_.resize(rows);
  }

  void run(const KeyTask& task, FrequencySums* frequencies) {
    const math::SequenceRows& s = call_.rows.sequences[task.sequence];
    for (std::int64_t n = 0; n < kTilesOfTask; ++n) {
      const std::int64_t first = (task.first_tile + n) * kTileKeys;
      if (first >= s.k_count) break;
      tile_.place(task.sequence, task.kv_head, first, std::min(kTileKeys, s.k_count - first));
      finish_rows(task.kv_head, frequencies);
      finish_values(task.kv_head, frequencies);
    }
  }

 private:
  std::int64_t count() const { return tile_.count(); }
  void copy(const KeySums& from, std::int64_t head, std::int64_t channels, std::int64_t width) {
    for (std::int64_t m = 0; m < count(); ++m) {
      std::copy_n(from.row(tile_.row(m), head), channels, rows_.data() + m * width);
    }
  }
  void write(const TensorView& to, const float* rows, std::int64_t head, std::int64_t channels, std::int64_t width) {
    if (to.empty()) return;
    const RowsView view = rows_view(to);
    for (std::int64_t m = 0; m < count(); ++m) {
      write_floats(call_.kernels, rows + m * width, channels, view.element,
                   const_cast<void*>(view.at(tile_.row(m), head)));
    }
  }
  void finish_rows(std::int64_t head, FrequencySums* frequencies) {
    if (!backward_.d_keys[0].is_asked) return;
    const std::int64_t channels = call_.layer.head_dim;
    const std::int64_t width = backward_.key_width;
    if (frequencies != nullptr) copy_given(tile_.raw(), channels, width);
    std::ranges::fill(sum_, 0.0F);
    for (std::int64_t r = 0; r < backward_.regions(); ++r) {
      copy(backward_.d_keys[index(r)], head, channels, width);
      angles_.place(RowRotations::Of::keys, tile_.row(0), count(), backward_.region(r));
      angles_.rotate_back(rows_.data(), width, given_.data(), scratch_.data(), frequencies);
      for (std::int64_t n = 0; n < count() * width; ++n) sum_[index(n)] += rows_[index(n)];
    }
    if (backward_.keeps_raw_keys) {
      copy(backward_.d_raw_keys, head, channels, width);
      for (std::int64_t n = 0; n < count() * width; ++n) sum_[index(n)] += rows_[index(n)];
    }
    write(backward_.args.d_k, sum_.data(), head, channels, width);
  }
  void finish_values(std::int64_t head, FrequencySums* frequencies) {
    const bool rotates = std::holds_alternative<math::ValueRotation>(call_.lowered.values);
    if (!backward_.d_values.is_asked || (!rotates && backward_.d_values.own.empty())) return;
    const std::int64_t channels = call_.layer.value_dim;
    const std::int64_t width = backward_.value_width;
    copy(backward_.d_values, head, channels, width);
    if (rotates) {
      if (frequencies != nullptr) {
        for (std::int64_t m = 0; m < count(); ++m) {
          const void* const from =
              call_.args.pages.block_table.empty() ? call_.v.at(tile_.row(m), head) : tile_.from(call_.v, m).data;
          read_floats(call_.kernels, call_.v.element, from, channels, given_.data() + m * width);
        }
      }
      angles_.place(RowRotations::Of::values, tile_.row(0), count(), nullptr);
      angles_.rotate_back(rows_.data(), width, given_.data(), scratch_.data(), frequencies);
    }
    write(backward_.args.d_v, rows_.data(), head, channels, width);
  }
  void copy_given(const FloatRows& raw, std::int64_t channels, std::int64_t width) {
    for (std::int64_t m = 0; m < count(); ++m) {
      std::copy_n(raw.data + m * raw.stride, channels, given_.data() + m * width);
    }
  }

  const BackwardCall& backward_;
  const AttendCall& call_;
  RowRotations angles_;
  KeyTile tile_;
  AlignedFloats sum_, rows_, given_, scratch_;
};

}  // namespace

void begin_keys(BackwardCall& backward) {
  const AttendBackwardArgs& args = backward.args;
  const std::int64_t channels = backward.call.layer.head_dim;
  backward.d_keys.resize(index(backward.regions()));
  backward.keeps_raw_keys = backward.call.takes_raw_keys && !backward.call.rotations.empty();
  if (!args.d_k.empty() || backward.wants_frequencies) {
    for (KeySums& sums : backward.d_keys) begin_sums(backward, sums, args.d_k, backward.regions() == 1, channels);
    if (backward.keeps_raw_keys) begin_sums(backward, backward.d_raw_keys, args.d_k, false, channels);
  }
  const bool rotates = std::holds_alternative<math::ValueRotation>(backward.call.lowered.values);
  if (!args.d_v.empty() || (rotates && backward.wants_frequencies)) {
    begin_sums(backward, backward.d_values, args.d_v, true, backward.call.layer.value_dim);
  }
}

// Where sums are in the caller's tensors and nothing rotates, they are what is asked for.
void finish_keys(BackwardCall& backward, KeepGoing& keep_going) {
  const auto is_done = [](const KeySums& sums) { return !sums.is_asked || sums.own.empty(); };
  const bool rotates = !backward.call.rotations.empty();
  const bool has_sums = std::ranges::any_of(backward.d_keys, &KeySums::is_asked) || backward.d_values.is_asked;
  if (!has_sums) return;
  if (!rotates && std::ranges::all_of(backward.d_keys, is_done) && is_done(backward.d_values)) return;
  std::vector<KeyTask> tasks;
  for (std::size_t s = 0; s < backward.call.rows.sequences.size(); ++s) {
    const std::int64_t tiles = (backward.call.rows.sequences[s].k_count + kTileKeys - 1) / kTileKeys;
    for (std::int64_t tile = 0; tile < tiles; tile += kTilesOfTask) {
      for (std::int64_t head = 0; head < backward.call.layer.kv_heads; ++head) tasks.push_back({s, head, tile});
    }
  }
  std::vector<FrequencySums> frequencies;
  if (backward.wants_frequencies) frequencies.assign(tasks.size(), no_frequencies(backward.call));
  HeapLines heap;
  std::vector<KeyFinisher> workers;
  const std::int64_t threads = std::min<std::int64_t>(threads_of(backward.args.parallel), std::ssize(tasks));
  workers.reserve(index(threads));
  for (std::int64_t w = 0; w < threads; ++w) workers.emplace_back(backward, &heap);
  run_tasks(backward.args.parallel, workers, std::ssize(tasks), [&](KeyFinisher& worker, std::int64_t n) noexcept {
    if (!keep_going()) return;
    worker.run(tasks[index(n)], frequencies.empty() ? nullptr : &frequencies[index(n)]);
  });
  for (std::size_t task = 0; task < frequencies.size(); ++task) {
    FrequencySums& to = backward.of_frequencies[index(tasks[task].kv_head)];
    for (std::size_t n = 0; n < to.size(); ++n) {
      for (std::size_t p = 0; p < to[n].size(); ++p) to[n][p] += frequencies[task][n][p];
    }
  }
}

}  // namespace posenc::cpu
