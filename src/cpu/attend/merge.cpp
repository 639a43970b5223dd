// merge() of posenc/attend.h: results over parts of the keys, weighed by their shares of all weight, as ring attention
// and split-K decode need it.
//
//   lse = ln sum_p exp(lse_p),  out = sum_p exp(lse_p - lse) out_p      a sink counts once, here
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/attend_call.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/row_floats.h"
#include "cpu/call/tensor_memory.h"
#include "cpu/lower/weight_reader.h"
#include "cpu/machine/dispatch.h"
#include "posenc/attend.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::string_view kMerge = "merge";

[[noreturn]] void refuse(const std::string& field, std::string must, std::string is) {
  throw Error(kMerge, {field, std::move(must), std::move(is)});
}

// Queries of all members of the batch.
std::int64_t rows_of(const TensorView& out) { return out.rank == 4 ? out.shape[0] * out.shape[2] : out.shape[0]; }
// Axis 1 is heads in both ranks.
std::int64_t elements_of(const TensorView& out) {
  return rows_of(out) * out.shape[1] * out.shape[static_cast<std::size_t>(out.rank - 1)];
}

void check_shape(const std::string& field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  if (x.rank != std::ssize(shape)) {
    refuse(field, formatted("have rank {}", shape.size()), x.empty() ? "omitted" : formatted("{}", x.rank));
  }
  bool has_elements = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (x.shape[axis] != shape[axis]) {
      refuse(formatted("{}.shape[{}]", field, axis), formatted("be {}", shape[axis]), formatted("{}", x.shape[axis]));
    }
    has_elements &= shape[axis] > 0;
  }
  if (has_elements && x.data == nullptr) refuse(field + ".data", "point to the elements", "null");
  if (x.dtype > DType::f64) refuse(field + ".dtype", "be f32, f16, bf16 or f64", std::string(name(x.dtype)));
  if (!cpu::is_aligned(x)) refuse(field + ".data", "be aligned to its elements", "between two");
}

void check_heads(const std::string& field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  if (x.dtype >= DType::f64) refuse(field + ".dtype", "be f32, f16 or bf16", std::string(name(x.dtype)));
  check_shape(field, x, shape);
  const std::size_t last = shape.size() - 1;
  if (shape[last] > 1 && x.strides[last] != 1) {
    refuse(formatted("{}.strides[{}]", field, last), "be 1, since channels of a head are adjacent",
           formatted("{}", x.strides[last]));
  }
}

void check_numbers(const std::string& field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  check_shape(field, x, shape);
  if (x.dtype != DType::f32) refuse(field + ".dtype", "be f32", std::string(name(x.dtype)));
}

void check_apart(const std::string& field, const TensorView& written, const std::string& name,
                 const ConstTensorView& other, const char* unless = "") {
  if (cpu::are_disjoint(cpu::memory_of(kMerge, field, written), cpu::memory_of(kMerge, name, other))) return;
  refuse(field, formatted("not share memory with {}{}", name, unless), "memory of both");
}

// A part's out may be where the result's goes, element by element, and its lse likewise.
void check_memory(const std::string& field, const TensorView& written, const std::string& name,
                  const ConstTensorView& read) {
  const bool is_same = read.data == written.data && read.dtype == written.dtype && read.strides == written.strides;
  if (!is_same) check_apart(field, written, name, read, ", unless they are the same");
}

// Each tensor may have a dtype and strides of its own, with channels adjacent; lse is f32, of out's shape without
// channels.
void check(const MergeArgs& args) {
  const TensorView& out = args.out;
  if (out.rank != 3 && out.rank != 4) refuse("out", "have rank 3 or 4", formatted("{}", out.rank));
  const std::span<const std::int64_t> shape(out.shape.data(), static_cast<std::size_t>(out.rank));
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
    refuse("out.shape", "have no negative size", "one that has");
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (!__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)) continue;
    refuse("out.shape", "have fewer than 2^63 elements", "larger");
  }
  const std::span numbers = shape.first(shape.size() - 1);
  check_heads("out", out, shape);
  if (args.parts.empty()) refuse("parts", "have at least 1", "0");
  for (std::size_t p = 0; p < args.parts.size(); ++p) {
    check_heads(formatted("parts[{}].out", p), args.parts[p].out, shape);
    check_numbers(formatted("parts[{}].lse", p), args.parts[p].lse, numbers);
  }
  if (!args.lse.empty()) check_numbers("lse", args.lse, numbers);
  if (!args.sinks.empty()) check_shape("sinks", args.sinks, shape.subspan(1, 1));
  if (elements_of(out) == 0) return;
  cpu::check_places(kMerge, "out", cpu::memory_of(kMerge, "out", out));
  if (!args.lse.empty()) {
    cpu::check_places(kMerge, "lse", cpu::memory_of(kMerge, "lse", args.lse));
    check_apart("lse", args.lse, "out", out);
    if (!args.sinks.empty()) check_apart("lse", args.lse, "sinks", args.sinks);
  }
  if (!args.sinks.empty()) check_apart("out", out, "sinks", args.sinks);
  for (std::size_t p = 0; p < args.parts.size(); ++p) {
    check_memory("out", out, formatted("parts[{}].out", p), args.parts[p].out);
    check_apart("out", out, formatted("parts[{}].lse", p), args.parts[p].lse);
    if (args.lse.empty()) continue;
    check_apart("lse", args.lse, formatted("parts[{}].out", p), args.parts[p].out);
    check_memory("lse", args.lse, formatted("parts[{}].lse", p), args.parts[p].lse);
  }
}

TensorView writable(const ConstTensorView& x) {
  return {.data = const_cast<void*>(x.data), .dtype = x.dtype, .rank = x.rank, .shape = x.shape, .strides = x.strides};
}

// Of one query and head.
struct Shares {
  std::vector<double> of_part;
  double lse = 0.0;  // of all parts, without the sink
};

// In double, relative to the largest lse, so that no exponential overflows; only the sink's may, and then no part has a
// share. A share of 0 is that of a part in which the query saw nothing, or nothing that counts.
void share(const MergeArgs& args, std::int64_t row, std::int64_t head, Shares& shares) {
  const double none = -std::numeric_limits<double>::infinity();
  double most = none;
  for (std::size_t p = 0; p < args.parts.size(); ++p) {
    shares.of_part[p] = static_cast<double>(cpu::number_of(writable(args.parts[p].lse), row, head));
    most = std::max(most, shares.of_part[p]);
  }
  shares.lse = none;
  double sum = 0.0;
  for (double& part : shares.of_part) sum += part = part == none ? 0.0 : std::exp(part - most);
  if (sum == 0.0) return;
  shares.lse = most + std::log(sum);
  if (!args.sinks.empty()) sum += std::exp(cpu::read(args.sinks, {head}) - most);
  for (double& part : shares.of_part) part /= sum;
}

}  // namespace

void merge(const MergeArgs& args) {
  check(args);
  if (elements_of(args.out) == 0) return;
  const kernels::KernelTable& kernels = cpu::kernels_for(kMerge, Isa::automatic);
  const std::int64_t width = args.out.shape[static_cast<std::size_t>(args.out.rank - 1)];
  std::vector<float> row(cpu::index(width));
  std::vector<float> sum(cpu::index(width));
  Shares shares{.of_part = std::vector<double>(args.parts.size())};
  const cpu::RowsView out = cpu::rows_view(args.out);
  for (std::int64_t n = 0; n < rows_of(args.out); ++n) {
    for (std::int64_t head = 0; head < args.out.shape[1]; ++head) {
      share(args, n, head, shares);
      std::ranges::fill(sum, 0.0F);
      for (std::size_t p = 0; p < args.parts.size(); ++p) {
        if (shares.of_part[p] == 0.0) continue;  // a part that is masked altogether may hold anything
        const cpu::RowsView part = cpu::rows_view(args.parts[p].out);
        cpu::read_floats(kernels, part.element, part.at(n, head), width, row.data());
        const auto by = static_cast<float>(shares.of_part[p]);
        for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += by * row[c];
      }
      cpu::write_floats(kernels, sum.data(), width, out.element, const_cast<void*>(out.at(n, head)));
      if (!args.lse.empty()) cpu::number_of(args.lse, n, head) = static_cast<float>(shares.lse);
    }
  }
}

}  // namespace posenc::inline v0_2
