// Linear attention of a few rows on the caller's state as it lies, a token at a time: the recurrence of
// attend_linear.h as it stands. Beside few rows what takes time is the state, which is read and written once a token
// here, and no chunk's sums stand beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/linear/linear_rows.h"
#include "posenc/attend_linear.h"

namespace posenc::cpu {

// Beyond so many tokens, chunks have fewer passes over what is summed.
inline constexpr std::int64_t kDecodeRows = 4;

// Whether a call's rows are so few, and its state such that its rows lie one after another.
bool takes_steps(const AttendCall& call, const LinearState& state);

class LinearStepper {
 public:
  LinearStepper(const AttendCall& call, kernels::Feature feature, const LinearState& state);

  // Adds the call's keys to the state and writes the outputs of the query heads that share the KV head.
  void attend(std::int64_t sequence, std::int64_t kv_head);

 private:
  void add_key(std::int64_t key);  // of those that have been read
  void attend_row(std::int64_t row, std::int64_t kv_head);

  const AttendCall& call_;
  const LinearState& state_;
  float* products_ = nullptr;  // of the head: [head_dim][value_dim]
  float* totals_ = nullptr;    // [head_dim]
  LinearRows keys_, query_;
  std::vector<float> values_;  // [rows][value_dim]
  std::vector<float> lanes_;   // [head_dim][lanes]: rotated queries of the heads that share the KV head
  std::vector<float> out_;     // [lanes][value_dim]
  std::vector<float> denominators_, nothing_;
};

}  // namespace posenc::cpu
