// Sums of gradients, by the tensors that they are of (gradients.h).
#include "reference/gradients.h"

#include <algorithm>

#include "math/learned_tensors.h"

namespace posenc::inline v0_2::reference {
namespace {

std::int64_t elements_of(const TensorView& x) {
  if (x.empty()) return 0;
  std::int64_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) count *= x.shape[index(axis)];
  return count;
}

// Of a head of q, k or v: [tokens, heads, channels] or [batch, heads, tokens, channels], as the call has it.
void add_head(GradientSum& to, const Row& row, const Tokens& side, std::int64_t token, std::int64_t h,
              std::span<const double> d) {
  const bool is_batch = row.args.q.rank == 4;
  for (std::size_t c = 0; c < d.size(); ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    if (is_batch) to.add({row.sequence.batch, h, token, channel}, d[c]);
    if (!is_batch) to.add({side.first_row + token, h, channel}, d[c]);
  }
}

// One list for each of `count` terms, or rotations.
std::vector<NamedSums> by_prefix(std::span<const NamedGradient> asked, std::deque<GradientSum>& sums, std::size_t count,
                                 std::size_t named) {
  std::vector<NamedSums> out;
  for (std::size_t n = 0; n < count; ++n) out.emplace_back(asked, sums, math::prefix_of(n, named));
  return out;
}

std::deque<GradientSum> sums_of(std::span<const NamedGradient> asked) {
  std::deque<GradientSum> out;
  for (const NamedGradient& one : asked) out.emplace_back(one.gradient);
  return out;
}

}  // namespace

GradientSum::GradientSum(const TensorView& written) : written_(written), sums_(index(elements_of(written))) {}

void GradientSum::add(std::initializer_list<std::int64_t> indices, double x) {
  if (written_.empty()) return;
  std::int64_t place = 0;
  std::size_t axis = 0;
  for (const std::int64_t i : indices) place = place * written_.shape[axis++] + i;
  sums_[index(place)] += x;
}

void GradientSum::write() const {
  for (std::size_t n = 0; n < sums_.size(); ++n) {
    auto rest = static_cast<std::int64_t>(n);
    std::int64_t offset = 0;
    for (int axis = written_.rank; axis-- > 0;) {
      offset += rest % written_.shape[index(axis)] * written_.strides[index(axis)];
      rest /= written_.shape[index(axis)];
    }
    static_cast<double*>(written_.data)[offset] = sums_[n];
  }
}

NamedSums::NamedSums(std::span<const NamedGradient> asked, std::deque<GradientSum>& sums, const std::string& prefix) {
  for (std::size_t n = 0; n < asked.size(); ++n) {
    const std::string_view name = asked[n].name;
    if (name.starts_with(prefix)) named_.push_back({name.substr(prefix.size()), &sums[n]});
  }
}

void NamedSums::add(std::string_view name, std::initializer_list<std::int64_t> indices, double x) {
  const auto found = std::ranges::find(named_, name, &Named::name);
  if (found != named_.end()) found->sum->add(indices, x);
}

Gradients::Gradients(const LayerPlan& plan, const AttendBackwardArgs& args)
    : q(args.d_q),
      k(args.d_k),
      v(args.d_v),
      bias(args.d_bias),
      log_forget(args.d_log_forget),
      row_gate(args.d_row_gate),
      weights(sums_of(args.d_weights)),
      layer(args.d_weights, weights, ""),
      terms(by_prefix(args.d_weights, weights, plan.score.size(), plan.score.size())),
      rotations(by_prefix(args.d_weights, weights, plan.rotate.size(), math::main_rotations(plan))) {}

void Gradients::write() const {
  for (const GradientSum* one : {&q, &k, &v, &bias, &log_forget, &row_gate}) one->write();
  for (const GradientSum& one : weights) one.write();
}

void RowGradient::add_key(const Row& row, std::int64_t j, std::span<const double> d) {
  add_head(sums.k, row, row.sequence.k, j, row.kv_head(), d);
}

void RowGradient::add_value(const Row& row, std::int64_t j, std::span<const double> d) {
  add_head(sums.v, row, row.sequence.k, j, row.kv_head(), d);
}

void RowGradient::add_query(const Row& row) { add_head(sums.q, row, row.sequence.q, row.i, row.h, q); }

}  // namespace posenc::inline v0_2::reference
