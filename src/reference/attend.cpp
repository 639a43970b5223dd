// reference::attend: the equation of posenc/reference_attend.h, row by row in double. Scores come from
// reference/scores.h, by the formulas or by the primitives; mask, soft cap, sinks and softmax (softmax_row.h) and the
// sum over values are here, once for both.
//
//   p_ij = exp(z_ij - m_i) / (sum_j exp(z_ij - m_i) + exp(sink - m_i)),  o_i = sum_j p_ij v_j
//
// Called by tests, the properties and the tools' error checks (posenc attend). It takes time and memory of its own for
// every query and key; nothing here is fast.
#include "posenc/reference_attend.h"
#include "reference/check_double.h"
#include "reference/elements.h"
#include "reference/formula_scores.h"
#include "reference/scores.h"
#include "reference/sequences.h"
#include "reference/softmax_row.h"

namespace posenc::inline v0_2::reference {
namespace {

double* place(const TensorView& view, std::int64_t offset) { return static_cast<double*>(view.data) + offset; }

// Of out and lse: rows are tokens of the call.
struct Target {
  double* out;
  std::int64_t stride;
  double* lse = nullptr;
  double* scores = nullptr;  // of key 0
  std::int64_t scores_stride = 0;
};

// Where the results of one row go. Per-call tensors of packed sequences are counted from the call's first token, those
// of a batch within the sequence.
Target target(const AttendArgs& args, const Row& row) {
  const bool is_batch = args.q.rank == 4;
  const std::int64_t b = row.sequence.batch;
  const std::int64_t i = is_batch ? row.i : row.sequence.q.first_row + row.i;
  Target to{.out = place(args.out, offset_of(args.out, b, i, row.h)),
            .stride = args.out.strides[static_cast<std::size_t>(args.out.rank - 1)]};
  if (!args.lse.empty()) {
    const auto& s = args.lse.strides;
    to.lse = place(args.lse, is_batch ? b * s[0] + row.h * s[1] + i * s[2] : i * s[0] + row.h * s[1]);
  }
  if (!args.scores.empty()) {
    const auto& s = args.scores.strides;
    const std::int64_t first_key = is_batch ? 0 : row.sequence.k.first_row;
    to.scores_stride = s[static_cast<std::size_t>(args.scores.rank - 1)];
    to.scores = place(args.scores, (is_batch ? b * s[0] + row.h * s[1] + i * s[2] : row.h * s[0] + i * s[1]) +
                                       first_key * to.scores_stride);
  }
  return to;
}

// x is made of hidden keys too: the stage `content` shows it, and it costs nothing that matters here.
void attend_row(Scores& scores, const AttendArgs& args, Row& row) {
  const LayerPlan& layer = row.layer;
  const SoftmaxRow soft = softmax_row(scores, row);
  const std::size_t keys = soft.z.size();
  std::vector<double> out(index(layer.value_dim));
  for (std::size_t j = 0; j < keys; ++j) {
    if (soft.weights[j] == 0.0) continue;
    const std::vector<double> value = scores.value(row, static_cast<std::int64_t>(j));
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += soft.weights[j] * value[c];
  }
  out = scores.finished(row, std::move(out));

  const Target to = target(args, row);
  for (std::size_t c = 0; c < out.size(); ++c) to.out[static_cast<std::int64_t>(c) * to.stride] = out[c];
  if (to.lse != nullptr) *to.lse = soft.lse;
  if (to.scores == nullptr) return;
  const bool is_capped_first = layer.soft_cap && layer.soft_cap->order == SoftCap::Order::before_bias;
  const auto stage = [&](std::size_t j) {
    switch (args.stage) {
      case ScoreStage::content: return row.x[j];
      case ScoreStage::biased: return soft.y[j];
      case ScoreStage::capped:
        return is_capped_first ? capped(layer.soft_cap, SoftCap::Order::before_bias, row.x[j]) : soft.z[j];
      case ScoreStage::weights: return soft.weights[j];
    }
    return 0.0;
  };
  for (std::size_t j = 0; j < keys; ++j) to.scores[static_cast<std::int64_t>(j) * to.scores_stride] = stage(j);
}

// Packed sequences do not see one another: what a query of one says of keys of another.
void fill_scores(const AttendArgs& args) {
  if (args.scores.empty() || args.q.rank == 4) return;
  const auto& [heads, queries, keys, none] = args.scores.shape;
  const auto& s = args.scores.strides;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) {
        *place(args.scores, h * s[0] + i * s[1] + j * s[2]) = args.stage == ScoreStage::weights ? 0.0 : kUnseen;
      }
    }
  }
}

}  // namespace

// Sequence by sequence, head by head; every row is written once it is done, so a cancelled call has written some rows
// of out whole and the others not.
bool attend_by(Scores& scores, const LayerPlan& layer, const AttendArgs& args) {
  fill_scores(args);
  for (const Sequence& sequence : sequences_of(layer, args)) {
    scores.begin(sequence);
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < sequence.q.rows(); ++i) {
        if (args.keep_going && !args.keep_going()) return false;
        Row row{.layer = layer, .args = args, .sequence = sequence, .h = h, .i = i};
        attend_row(scores, args, row);
      }
    }
  }
  return true;
}

bool attend(const LayerPlan& layer, const AttendArgs& args) {
  check_double(layer, args);
  FormulaScores scores(layer, args);
  return attend_by(scores, layer, args);
}

}  // namespace posenc::inline v0_2::reference
