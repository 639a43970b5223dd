// The end of a block of queries: what terms have kept of its lanes becomes gradients of their numbers and of queries as
// given; those of rotated queries are rotated back, scaled, added, and written.
#include <algorithm>
#include <variant>

#include "cpu/attend/lane_rows.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/backward/backward_unit.h"
#include "cpu/backward/bias_gradients.h"
#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

struct FinishTerm {
  const BackwardCall& backward;
  GradientScratch& scratch;
  GradientBlock& block;
  std::size_t t;
  TermSums& sums;

  const AttendCall& call() const { return backward.call; }
  std::int64_t channels() const { return call().layer.head_dim; }
  std::int64_t width() const { return backward.key_width; }
  std::int64_t lanes() const { return block.lanes.lanes; }
  bool wants() const { return backward.wants[t] != 0; }
  float* floats() const { return sums.floats_of(block.lanes.head() % call().group); }
  double* doubles() const { return sums.doubles_of(block.lanes.head() % call().group); }
  const float* ones() const { return scratch.ones.data(); }

  void operator()(const math::QueryDistance& term) const {
    if (term.given_places.empty() || !wants()) return;
    float* const given = floats() + term.vectors.count * width();
    for (std::int64_t l = 0; l < block.lanes.used; ++l) {
      float* const to = given + term.given_places[index(block.lanes.lane[index(l)].row)] * width();
      for (std::int64_t c = 0; c < channels(); ++c) to[c] += block.of_term[t][index(c * lanes() + l)];
    }
  }
  // x = q + v; of projected queries y = W^T x.
  void operator()(const math::SineDistance& term) const {
    const TermVectors& vectors = call().vectors(t);
    const AlignedFloats& own = block.of_term[t];
    float* of_added = nullptr;
    const float* of_x = own.data();
    if (call().projects_queries(t)) {
      const std::int64_t sines = vectors.sines->width();
      const std::int64_t sines_width = whole(sines, call().attention.register_lanes);
      // W of the head times what each y has: [head_dim][lanes].
      call().attention.product({.a = vectors.weight.data() + block.lanes.head() * channels() * sines,
                                .a_row = sines,
                                .a_step = 1,
                                .b = own.data(),
                                .c = scratch.mass.data(),
                                .rows = channels(),
                                .depth = sines,
                                .lanes = lanes()});
      of_x = scratch.mass.data();
      if (wants()) {
        of_added = floats() + channels() * sines_width;
        for (std::int64_t l = 0; l < lanes(); ++l) {
          for (std::int64_t w = 0; w < sines_width; ++w) {
            scratch.rows[index(l * sines_width + w)] = w < sines ? own[index(w * lanes() + l)] : 0.0F;
          }
        }
        add_outer(x_of(vectors), scratch.rows.data(), sines_width, floats());
      }
    } else if (wants()) {
      of_added = floats() + (term.high - term.low + 1) * width();
    }
    for (std::int64_t c = 0; c < channels(); ++c) {
      for (std::int64_t l = 0; l < lanes(); ++l) {
        block.d_raw[index(c * lanes() + l)] += of_x[c * lanes() + l];
        if (of_added != nullptr && l < block.lanes.used) of_added[c] += of_x[c * lanes() + l];
      }
    }
  }
  // Without a rotation u is part of q.
  void operator()(const math::KeyVector&) const {
    if (!call().rotations.empty() || !wants()) return;
    float* const to = floats();
    for (std::int64_t c = 0; c < channels(); ++c) {
      for (std::int64_t l = 0; l < block.lanes.used; ++l) {
        to[c] += block.lanes.row_scale[index(l)] * block.d_q[index(c * lanes() + l)];
      }
    }
  }
  void operator()(const math::Label& term) const {
    const AlignedFloats& own = block.of_term[t];
    for (std::int64_t differ = 0; differ < 2; ++differ) {
      const std::int64_t place = 2 * block.lanes.head() + differ;
      for (std::int64_t l = 0; l < block.lanes.used; ++l) {
        const float d = own[index(differ * lanes() + l)];
        for (std::int64_t c = 0; c < channels(); ++c) {
          block.d_raw[index(c * lanes() + l)] += d * static_cast<float>(term.vectors[index(place * channels() + c)]);
          if (wants()) floats()[differ * width() + c] += d * block.raw_rows[index(l * width() + c)];
        }
        if (wants()) doubles()[differ] += static_cast<double>(d);
      }
    }
  }
  // Behind the last row of E stands the last row again.
  void operator()(const math::Running& term) const {
    if (const TensorView& carry = backward.d_carries.gates; !carry.empty()) {
      for (std::int64_t l = 0; l < block.lanes.used; ++l) {
        const Lane& lane = block.lanes.lane[index(l)];
        number_of(carry, lane.row, lane.head) = block.gates_before[index(l)];
      }
    }
    AlignedFloats& own = block.of_term[t];
    float* const last = own.data() + (term.count - 1) * lanes();
    for (std::int64_t l = 0; l < lanes(); ++l) last[l] += last[lanes() + l];
    call().attention.product({.a = call().vectors(t).rows.data(),
                              .a_row = 1,
                              .a_step = channels(),
                              .b = own.data(),
                              .c = block.d_raw.data(),
                              .scale = ones(),
                              .rows = channels(),
                              .depth = term.count,
                              .lanes = lanes()});
    if (!wants()) return;
    add_rows_product(call(), ones(),
                     {.a = own.data(),
                      .a_row = lanes(),
                      .a_step = 1,
                      .b = block.raw_rows.data(),
                      .b_row = width(),
                      .c = floats(),
                      .c_row = width(),
                      .rows = term.count,
                      .depth = block.lanes.used,
                      .width = width()});
  }
  // A number of the row's head, which no other block has.
  void operator()(const math::DistanceBias& term) const {
    const TensorView& to = backward.args.d_row_gate;
    if (term.row_factor.empty() || to.empty()) return;
    for (std::int64_t l = 0; l < block.lanes.used; ++l) {
      const Lane& lane = block.lanes.lane[index(l)];
      add_to(to, lane.row * to.strides[0] + lane.head * to.strides[1], block.of_rows[t][index(l)]);
    }
  }
  void operator()(const math::Knots&) const { keep_rows(); }
  void operator()(const math::Column&) const { keep_rows(); }
  void operator()(const math::LinearDistance&) const {}
  void operator()(const math::KeyDistance&) const {}

 private:
  void keep_rows() const {
    if (!wants()) return;
    std::vector<double>& to = const_cast<BackwardCall&>(backward).of_rows[t].of_queries;
    for (std::int64_t l = 0; l < block.lanes.used; ++l) {
      const Lane& lane = block.lanes.lane[index(l)];
      to[index(lane.head * call().lowered.q_rows + lane.row)] += block.of_rows[t][index(l)];
    }
  }
  // q + v of the lanes as columns: [head_dim][lanes].
  const float* x_of(const TermVectors& vectors) const {
    for (std::int64_t c = 0; c < channels(); ++c) {
      const float v = vectors.added.empty() ? 0.0F : vectors.added[index(block.lanes.head() * channels() + c)];
      for (std::int64_t l = 0; l < lanes(); ++l) {
        scratch.columns[index(c * lanes() + l)] = block.lanes.raw[index(c * lanes() + l)] + v;
      }
    }
    return scratch.columns.data();
  }
  // to[c][w] += sum over lanes of columns[c][l] rows[l][w]
  void add_outer(const float* columns, const float* rows, std::int64_t row_width, float* to) const {
    add_rows_product(call(), ones(),
                     {.a = columns,
                      .a_row = lanes(),
                      .a_step = 1,
                      .b = rows,
                      .b_row = row_width,
                      .c = to,
                      .c_row = row_width,
                      .rows = channels(),
                      .depth = block.lanes.used,
                      .width = row_width});
  }
};

}  // namespace

void BackwardWorker::finish_block(GradientBlock& block) {
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    multiply_places(backward_, gradients_, block, t, of_terms_[t]);
    std::visit(FinishTerm{backward_, gradients_, block, t, of_terms_[t]}, call_.lowered.terms[t]);
  }
  if (const auto* values = std::get_if<math::ValueDistance>(&call_.lowered.values);
      values != nullptr && backward_.wants_values) {
    add_rows_product(call_, gradients_.ones.data(),
                     {.a = block.lanes.mass.data(),
                      .a_row = block.lanes.lanes,
                      .a_step = 1,
                      .b = block.d_out_rows.data(),
                      .b_row = backward_.value_width,
                      .c = of_values_.floats_of(block.lanes.head() % call_.group),
                      .c_row = backward_.value_width,
                      .rows = values->count,
                      .depth = block.lanes.used,
                      .width = backward_.value_width});
  }
  write_queries(block);
}

void BackwardWorker::write_queries(GradientBlock& block) {
  const LaneBlock& lanes = block.lanes;
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t width = backward_.key_width;
  const TensorView& d_q = backward_.args.d_q;
  if (d_q.empty() && !backward_.wants_frequencies) return;
  float* const sum = more_rows_.data();
  std::fill_n(sum, lanes.lanes * width, 0.0F);
  if (call_.takes_raw_queries) {
    for_lanes_and_channels(lanes.lanes, channels, [&](std::int64_t l, std::int64_t c) {
      sum[l * width + c] = block.d_raw[index(c * lanes.lanes + l)];
    });
  }
  float* const given = given_.data();
  if (backward_.wants_frequencies) {
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      read_query(call_, lanes.lane[index(l)], given + l * width);
      for (std::int64_t c = 0; c < channels; ++c) given[l * width + c] *= lanes.row_scale[index(l)];
    }
  }
  for (std::int64_t r = 0; r < backward_.regions(); ++r) {
    float* const rows = rows_.data();
    std::fill_n(rows, lanes.lanes * width, 0.0F);
    const float* const own = block.d_q.data() + r * channels * lanes.lanes;
    for_lanes_and_channels(lanes.lanes, channels,
                           [&](std::int64_t l, std::int64_t c) { rows[l * width + c] = own[c * lanes.lanes + l]; });
    angles_.place(RowRotations::Of::queries, lanes.lane[0].row, lanes.used, backward_.region(r));
    angles_.rotate_back(rows, width, given, rotated_.data(), backward_.wants_frequencies ? &of_frequencies_ : nullptr);
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      for (std::int64_t c = 0; c < channels; ++c) {
        sum[l * width + c] += lanes.row_scale[index(l)] * rows[l * width + c];
      }
    }
  }
  if (d_q.empty()) return;
  const RowsView to = rows_view(d_q);
  for (std::int64_t l = 0; l < lanes.used; ++l) {
    write_floats(call_.kernels, sum + l * width, channels, to.element,
                 const_cast<void*>(to.at(lanes.lane[index(l)].row, lanes.head())));
  }
}

}  // namespace posenc::cpu
