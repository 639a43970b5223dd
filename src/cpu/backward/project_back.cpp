// Gradients of projections of rows, and of the rows: matrix products of all places by the kernel that multiplies
// attention's tiles (attend/panels.h), each task's in memory of its own before they are written.
#include "cpu/backward/project_back.h"

#include <algorithm>
#include <deque>

#include "cpu/attend/panels.h"
#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Panels of columns that are a task: of 128 outputs of a head they are 144 KiB.
constexpr std::int64_t kPanels = 6;

// A part of a tensor of two axes, f32 or f64.
struct TensorPart {
  const TensorView& to;
  std::int64_t first_row;
  std::int64_t first_column;
  std::int64_t rows;
  std::int64_t columns;
};

template <typename Number>
void write_as(const TensorPart& part, const float* from, std::int64_t from_row) {
  const std::int64_t step = part.to.strides[1];
  for (std::int64_t r = 0; r < part.rows; ++r) {
    Number* const to =
        static_cast<Number*>(part.to.data) + (part.first_row + r) * part.to.strides[0] + part.first_column * step;
    const float* const own = from + r * from_row;
    if (step == 1) {
      std::copy_n(own, part.columns, to);
    } else {
      for (std::int64_t c = 0; c < part.columns; ++c) to[c * step] = static_cast<Number>(own[c]);
    }
  }
}

void write(const TensorPart& part, const float* from, std::int64_t from_row) {
  if (part.to.dtype == DType::f64) return write_as<double>(part, from, from_row);
  write_as<float>(part, from, from_row);
}

struct ProjectedSizes {
  std::int64_t heads;
  std::int64_t channels;  // of a head
  std::int64_t width;     // of rows
  std::int64_t key_width;
};

// A number of the bias, in double.
void write_bias(const BackProjection& x, const ProjectedSizes& sizes, const PlaceSpan& span) {
  for (std::int64_t h = 0; h < sizes.heads; ++h) {
    std::vector<double> sums(index(sizes.channels));
    for (std::int64_t n = span.low; n <= span.high; ++n) {
      const float* const own = x.gradients + h * x.head_stride + n * sizes.key_width;
      for (std::int64_t c = 0; c < sizes.channels; ++c) sums[index(c)] += static_cast<double>(own[c]);
    }
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      const std::int64_t at = (h * sizes.channels + c) * x.d_bias.strides[0];
      if (x.d_bias.dtype == DType::f64) {
        static_cast<double*>(x.d_bias.data)[at] = sums[index(c)];
      } else {
        static_cast<float*>(x.d_bias.data)[at] = static_cast<float>(sums[index(c)]);
      }
    }
  }
}

// dW_h = G_h^T x: a task is a head and some columns.
void write_weights(const AttendCall& call, const ProjectedSizes& sizes, const PlaceSpan& span, const float* rows,
                   std::span<const BackProjection> projections) {
  Panels of_rows(call.attention);
  of_rows.fill({.from = rows + span.low * sizes.width,
                .row = sizes.width,
                .step = 1,
                .depth = span.count(),
                .columns = sizes.width});
  const std::int64_t row = kPanels * of_rows.lanes();
  const std::int64_t parts = (of_rows.count() + kPanels - 1) / kPanels;
  const std::int64_t tasks = std::ssize(projections) * sizes.heads * parts;
  std::vector<AlignedFloats> sums;
  for (std::int64_t w = std::min(threads_of(call.args.parallel), tasks); w > 0; --w) {
    sums.emplace_back(index(sizes.channels * row));
  }
  run_tasks(call.args.parallel, sums, tasks, [&](AlignedFloats& own, std::int64_t n) noexcept {
    const BackProjection& x = projections[index(n / parts / sizes.heads)];
    if (x.d_weight.empty()) return;
    const std::int64_t head = n / parts % sizes.heads;
    const std::int64_t first = n % parts * kPanels;
    if (span.count() == 0) std::ranges::fill(own, 0.0F);
    of_rows.multiply({.a = x.gradients + head * x.head_stride + span.low * sizes.key_width,
                      .a_row = 1,
                      .a_step = sizes.key_width,
                      .rows = sizes.channels,
                      .c = own.data(),
                      .c_row = row,
                      .first_panel = first,
                      .panels = std::min(kPanels, of_rows.count() - first)});
    const std::int64_t column = first * of_rows.lanes();
    write({x.d_weight, head * sizes.channels, column, sizes.channels, std::min(row, sizes.width - column)}, own.data(),
          row);
  });
}

// Where a thread sums gradients of some columns of rows.
struct RowsWorker {
  Panels weights;
  AlignedFloats sums;  // [rows of the span][kPanels panels]
};

// dx = sum of G_h W_h over projections and heads, in that order: a task is some columns of all rows.
void write_rows(const AttendCall& call, const ProjectedSizes& sizes, const PlaceSpan& span,
                std::span<const BackProjection> projections, const TensorView& d_rows) {
  std::deque<DenseFloats> weights;
  for (const BackProjection& x : projections) weights.emplace_back(x.by.weight);
  const std::int64_t row = kPanels * kernels::kLaneRegisters * call.attention.register_lanes;
  const std::int64_t parts = (sizes.width + row - 1) / row;
  std::vector<RowsWorker> workers;
  for (std::int64_t w = std::min(threads_of(call.args.parallel), parts); w > 0; --w) {
    workers.push_back({Panels(call.attention), AlignedFloats(index(span.count() * row))});
    workers.back().weights.reserve(sizes.channels, std::min(row, sizes.width));
  }
  const AlignedFloats nothing(index(row));
  run_tasks(call.args.parallel, workers, parts, [&](RowsWorker& worker, std::int64_t n) noexcept {
    const std::int64_t column = n * row;
    const std::int64_t columns = std::min(row, sizes.width - column);
    std::ranges::fill(worker.sums, 0.0F);
    for (std::size_t p = 0; p < projections.size(); ++p) {
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        worker.weights.fill({.from = weights[p].data() + h * sizes.channels * sizes.width + column,
                             .row = sizes.width,
                             .step = 1,
                             .depth = sizes.channels,
                             .columns = columns});
        worker.weights.multiply(
            {.a = projections[p].gradients + h * projections[p].head_stride + span.low * sizes.key_width,
             .a_row = sizes.key_width,
             .a_step = 1,
             .rows = span.count(),
             .c = worker.sums.data(),
             .c_row = row,
             .adds = true});
      }
    }
    write({d_rows, 0, column, span.low, columns}, nothing.data(), 0);
    write({d_rows, span.low, column, span.count(), columns}, worker.sums.data(), row);
    const std::int64_t after = span.low + span.count();
    write({d_rows, after, column, d_rows.shape[0] - after, columns}, nothing.data(), 0);
  });
}

}  // namespace

void project_back(const BackwardCall& backward, const ConstTensorView& rows, const PlaceSpan& span,
                  std::span<const BackProjection> projections, const TensorView& d_rows) {
  const AttendCall& call = backward.call;
  const ProjectedSizes sizes{call.layer.heads, call.layer.head_dim, rows.shape[1], backward.key_width};
  for (const BackProjection& x : projections) {
    if (!x.d_bias.empty()) write_bias(x, sizes, span);
  }
  if (std::ranges::any_of(projections, [](const BackProjection& x) { return !x.d_weight.empty(); })) {
    write_weights(call, sizes, span, DenseFloats(rows).data(), projections);
  }
  if (!d_rows.empty()) write_rows(call, sizes, span, projections, d_rows);
}

}  // namespace posenc::cpu
