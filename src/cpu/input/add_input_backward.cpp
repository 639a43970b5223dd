// add_input_backward() of posenc/add_input.h: tables by their rows (table_gradients.h), the scale token by token, dx by
// the kernel of add_input.
#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "cpu/backward/check_gradients.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_floats.h"
#include "cpu/call/row_runs.h"
#include "cpu/input/check_add_input.h"
#include "cpu/input/input_block.h"
#include "cpu/input/kept_input.h"
#include "cpu/input/table_gradients.h"
#include "cpu/lower/weight_reader.h"
#include "cpu/machine/dispatch.h"
#include "math/learned_tensors.h"
#include "posenc/add_input.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr const char* kInputBackward = "add_input_backward";
constexpr std::int64_t kTokensOfATask = 64;

[[noreturn]] void refuse_input(std::string field, std::string must, std::string is) {
  throw Error(kInputBackward, {std::move(field), std::move(must), std::move(is)});
}

// add_input's arguments: from d_out to d_x, or to d_out itself where d_x is not asked for.
AddInputArgs forward_of(const AddInputBackwardArgs& args) {
  return {.x = args.d_x.empty() ? written_view(args.d_out) : args.d_x,
          .x_from = args.d_out,
          .positions = args.positions,
          .token_types = args.token_types,
          .length = args.length,
          .lengths = args.lengths,
          .cu_seqlens = args.cu_seqlens,
          .parallel = args.parallel,
          .isa = args.isa};
}

InputCall check_forward(const KeptInput& kept, const AddInputBackwardArgs& args, const AddInputArgs& forward) {
  try {
    return check_add_input(kInputBackward, kept, forward);
  } catch (const Error& error) {  // what stands for its x and x_from
    Problem problem = error.problem();
    const char* const written = args.d_x.empty() ? "d_out" : "d_x";
    if (problem.field.starts_with("x_from")) {
      problem.field = "d_out" + problem.field.substr(6);
      if (const std::size_t at = problem.must.find("that of x,"); at != std::string::npos) {
        problem.must.replace(at, 9, "that of d_x");
      }
    } else if (problem.field == "x" || problem.field.starts_with("x.")) {
      problem.field = written + problem.field.substr(1);
    }
    throw Error(kInputBackward, problem);
  }
}

void check_table(const std::string& field, const TensorView& d, const ConstTensorView& table) {
  constexpr std::array kAny{DType::f32, DType::f16, DType::bf16, DType::f64};
  math::check_gradient(kInputBackward, field, d, table, kAny);
  require_aligned(kInputBackward, field, d);
  if (!d.empty() && d.shape[1] > 1 && d.strides[1] != 1) {
    refuse_input(field + ".strides[1]", "be 1, since channels of a row are adjacent,", formatted("{}", d.strides[1]));
  }
}

bool learns_scale(const KeptInput& kept) {
  const auto* const scheme = std::get_if<SinusoidalInput>(&kept.scheme);
  return scheme != nullptr && scheme->learned_scale;
}

void check_scale(const KeptInput& kept, const TensorView& d) {
  if (d.empty()) return;
  if (!learns_scale(kept)) refuse_input("d_scale", "be omitted for an input without a learned scale", "given");

  check_numbers_gradient(kInputBackward, "d_scale", d, tensor(static_cast<const double*>(nullptr), {1}));
}

void check_content(const KeptInput& kept, const AddInputBackwardArgs& args) {
  const bool asks = !args.d_positions.empty() || !args.d_scale.empty();
  if (args.x.empty()) {
    if (!asks || kept.combine == InputCombine::add) return;
    refuse_input("x", "be given where rows multiply", "omitted");
  }
  if (args.x.rank != args.d_out.rank || args.x.shape != args.d_out.shape || args.x.dtype != args.d_out.dtype) {
    refuse_input("x", "have the dtype and shape of d_out", "of another");
  }
  const auto last = static_cast<std::size_t>(args.x.rank - 1);
  if (args.x.shape[last] > 1 && args.x.strides[last] != 1) {
    refuse_input(formatted("x.strides[{}]", last), "be 1, since channels of a row are adjacent,",
                 formatted("{}", args.x.strides[last]));
  }
  require_aligned(kInputBackward, "x", args.x);
}

InputCall check_backward(const KeptInput& kept, const AddInputBackwardArgs& args, const AddInputArgs& forward) {
  require_given(kInputBackward, "d_out", args.d_out);
  if (args.d_out.dtype == DType::f64) refuse_input("d_out.dtype", "be f32, f16 or bf16", "f64");
  const InputCall call = check_forward(kept, args, forward);
  check_table("d_positions", args.d_positions, kept.tables.positions);
  check_table("d_token_types", args.d_token_types,
              args.token_types.empty() ? ConstTensorView{} : kept.tables.token_types);
  check_scale(kept, args.d_scale);
  check_content(kept, args);
  NamedTensors written{
      {"d_positions", args.d_positions}, {"d_token_types", args.d_token_types}, {"d_scale", args.d_scale}};
  NamedTensors read{{"d_out", args.d_out},
                    {"x", args.x},
                    {"d_x", args.d_x},
                    {"weights.positions", kept.tables.positions},
                    {"weights.token_types", kept.tables.token_types}};
  check_written_apart(kInputBackward, written, read);
  if (!args.d_x.empty() && !args.x.empty()) {
    check_written_apart(kInputBackward, {{"d_x", args.d_x}}, {{"x", args.x}});
  }
  return call;
}

// One call, checked.
struct InputBackward {
  const KeptInput& kept;
  const AddInputBackwardArgs& args;
  const AddInputArgs& forward;
  const InputCall& call;
  const kernels::KernelTable& kernels;
  KeepGoing& keep_going;

  bool multiplies() const { return kept.combine == InputCombine::multiply; }
  std::int64_t tokens() const { return call.batch * call.rows; }
  bool block_allocates() const { return InputBlock<float>::allocates(kept, forward, call); }

  // A part of a token's row of d_out or x, as floats: in `room`, or where it lies.
  const float* part(const ConstTensorView& x, std::int64_t token, std::int64_t first, std::int64_t count,
                    float* room) const {
    const std::int64_t member = x.rank == 3 ? token / call.rows * x.strides[0] : 0;
    const std::int64_t row = token % call.rows * x.strides[static_cast<std::size_t>(x.rank - 2)];
    const void* const from = static_cast<const char*>(x.data) + (member + row + first) * bytes_of(x.dtype);
    if (x.dtype == DType::f32) return static_cast<const float*>(from);
    read_floats(kernels, element_of(x.dtype), from, count, room);
    return room;
  }
  std::int64_t type_of(std::int64_t token) const {
    return args.token_types[index(call.shared_types ? token % call.rows : token)];
  }
  // m x + token type's row of those channels.
  double content(std::int64_t token, std::int64_t channel, float x) const {
    const double of_type = args.token_types.empty() ? 0.0 : read(kept.tables.token_types, {type_of(token), channel});
    return kept.multiplier * static_cast<double>(x) + of_type;
  }
};

// The row of the table that each token takes.
std::vector<std::int64_t> rows_of_positions(const InputBackward& backward) {
  const InputCall& call = backward.call;
  const std::int64_t offset = std::get<LearnedInput>(backward.kept.scheme).offset;
  std::vector<std::int64_t> out(index(backward.tokens()));
  std::visit(
      [&](const auto& given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::span<const std::int32_t> bounds = backward.args.cu_seqlens;
          std::size_t sequence = 0;
          for (std::int64_t t = 0; t < std::ssize(out); ++t) {
            std::int64_t row = t % call.rows;
            while (sequence + 1 < bounds.size() && bounds[sequence + 1] <= row) ++sequence;
            if (!bounds.empty()) row -= bounds[sequence];
            out[index(t)] = given.start + row + offset;
          }
        } else {
          for (std::int64_t t = 0; t < std::ssize(out); ++t) {
            out[index(t)] = static_cast<std::int64_t>(given[index(call.shared_positions ? t % call.rows : t)]) + offset;
          }
        }
      },
      backward.args.positions);
  return out;
}

void write_positions(const InputBackward& backward) {
  const TensorView& d = backward.args.d_positions;
  if (d.empty()) return;
  const TokensByRow tokens = tokens_by_row(rows_of_positions(backward), d.shape[0]);
  const auto part = [&](std::int64_t token, std::int64_t first, std::int64_t count, float* room) {
    const float* const given = backward.part(backward.args.d_out, token, first, count, room);
    if (!backward.multiplies()) return given;
    std::array<float, kTablePiece> of_x;
    const float* const x = backward.part(backward.args.x, token, first, count, of_x.data());
    for (std::int64_t c = 0; c < count; ++c) {
      room[c] = static_cast<float>(static_cast<double>(given[c]) * backward.content(token, first + c, x[c]));
    }
    return static_cast<const float*>(room);
  };
  write_table_gradient(d, tokens, backward.kernels, backward.args.parallel, false, part,
                       [&] { return backward.keep_going(); });
}

void write_types(const InputBackward& backward) {
  const TensorView& d = backward.args.d_token_types;
  if (d.empty()) return;
  std::vector<std::int64_t> rows(index(backward.tokens()));
  for (std::int64_t t = 0; t < std::ssize(rows); ++t) rows[index(t)] = backward.type_of(t);
  const TokensByRow tokens = tokens_by_row(rows, d.shape[0]);
  const auto part = [&](std::int64_t token, std::int64_t first, std::int64_t count, float* room) {
    const float* const given = backward.part(backward.args.d_out, token, first, count, room);
    if (!backward.multiplies()) return given;
    InputBlock<float> block(backward.kept, backward.forward, backward.call, backward.kernels);
    block.fill_positions(token / backward.call.rows, token % backward.call.rows, 1);
    const ConstTensorView p{block.positions()[0], block.row_dtype(), 1, {first + count}, {1}};
    for (std::int64_t c = 0; c < count; ++c) {
      room[c] = static_cast<float>(static_cast<double>(given[c]) * read(p, {first + c}));
    }
    return static_cast<const float*>(room);
  };
  write_table_gradient(d, tokens, backward.kernels, backward.args.parallel,
                       backward.multiplies() && backward.block_allocates(), part,
                       [&] { return backward.keep_going(); });
}

// A number for each token, added up in their order.
void write_scale(const InputBackward& backward) {
  const TensorView& d = backward.args.d_scale;
  if (d.empty()) return;
  const InputCall& call = backward.call;
  KeptInput unscaled = backward.kept;
  unscaled.sines = SineColumns::of(std::get<SinusoidalInput>(unscaled.scheme), unscaled.channels, 1.0);
  unscaled.rows.clear();
  unscaled.count = 0;
  std::vector<double> sums(index(backward.tokens()));
  const auto of_tokens = [&](std::int64_t begin, std::int64_t end) {
    InputBlock<float> block(unscaled, backward.forward, call, backward.kernels);
    std::array<float, kTablePiece> of_out;
    std::array<float, kTablePiece> of_x;
    for (std::int64_t t = begin; t < end && backward.keep_going(); ++t) {
      block.fill_positions(t / call.rows, t % call.rows, 1);
      const auto* const p = static_cast<const float*>(block.positions()[0]);
      for (std::int64_t first = 0; first < unscaled.channels; first += kTablePiece) {
        const std::int64_t count = std::min(kTablePiece, unscaled.channels - first);
        const float* const given = backward.part(backward.args.d_out, t, first, count, of_out.data());
        const float* const x =
            backward.multiplies() ? backward.part(backward.args.x, t, first, count, of_x.data()) : nullptr;
        for (std::int64_t c = 0; c < count; ++c) {
          const double by = x == nullptr ? 1.0 : backward.content(t, first + c, x[c]);
          sums[index(t)] += static_cast<double>(given[c]) * by * static_cast<double>(p[first + c]);
        }
      }
    }
  };
  share_tasks(backward.args.parallel, backward.tokens(), kTokensOfATask, backward.block_allocates(), of_tokens);
  double all = 0.0;
  for (const double sum : sums) all += sum;
  if (d.dtype == DType::f64) *static_cast<double*>(d.data) = all;
  if (d.dtype == DType::f32) *static_cast<float*>(d.data) = static_cast<float>(all);
}

// add_input without token types, on d_out; where rows are added, with rows of zeros.
void write_inputs(const InputBackward& backward) {
  if (backward.args.d_x.empty()) return;
  const InputCall& call = backward.call;
  const std::vector<float> zeros(index(backward.kept.channels));
  constexpr std::int64_t kRows = InputBlock<float>::kRows;
  std::array<const void*, kRows> none{};
  none.fill(zeros.data());
  const std::int64_t most =
      backward.multiplies() ? InputBlock<float>::rows(backward.kept, backward.forward, call) : kRows;
  const std::int64_t blocks = (call.rows + most - 1) / most;
  const std::int64_t bytes_of_row = backward.kept.channels * call.element_bytes;
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesOfAThread / (most * bytes_of_row));
  const bool allocates = backward.multiplies() && backward.block_allocates();
  share_tasks(backward.args.parallel, blocks * call.batch, grain, allocates, [&](std::int64_t begin, std::int64_t end) {
    InputBlock<float> block(backward.kept, backward.forward, call, backward.kernels);
    for (std::int64_t n = begin; n < end; ++n) {
      if (!backward.keep_going()) return;
      const std::int64_t member = n / blocks;
      const std::int64_t first = n % blocks * most;
      const std::int64_t count = std::min(most, call.rows - first);
      if (backward.multiplies()) block.fill_positions(member, first, count);
      const auto at = [&](std::int64_t batch, std::int64_t row) {
        return (member * batch + first * row) * call.element_bytes;
      };
      backward.kernels.input(
          {.element = element_of(call.dtype),
           .row_element = backward.multiplies() ? element_of(block.row_dtype()) : kernels::Element::f32,
           .rows = count,
           .count = backward.kept.channels,
           .multiplier = static_cast<float>(backward.kept.multiplier),
           .multiplies = backward.multiplies(),
           .positions = backward.multiplies() ? block.positions() : none.data(),
           .from = static_cast<const char*>(call.from) + at(call.from_batch, call.from_row),
           .from_row = call.from_row,
           .to = static_cast<char*>(call.to) + at(call.to_batch, call.to_row),
           .to_row = call.to_row});
    }
  });
}

// Where there are no tokens, tables' gradients are 0.
bool passed_back(const KeptInput& kept, const AddInputBackwardArgs& args) {
  const AddInputArgs forward = forward_of(args);
  const InputCall call = check_backward(kept, args, forward);
  const kernels::KernelTable& kernels = kernels_for(kInputBackward, args.isa);
  KeepGoing keep_going(args.keep_going);
  const InputBackward backward{kept, args, forward, call, kernels, keep_going};
  write_positions(backward);
  write_types(backward);
  write_scale(backward);
  if (!call.nothing()) write_inputs(backward);  // last, as d_x may be d_out
  return keep_going.answer();
}

}  // namespace
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

bool add_input_backward(const PreparedInput& prepared, const AddInputBackwardArgs& args) {
  return cpu::passed_back(cpu::KeptInputAccess::kept(prepared), args);
}

bool add_input_backward(const InputScheme& scheme, const InputWeights& weights, const AddInputBackwardArgs& args) {
  const ConstTensorView& d = args.d_out;
  const std::int64_t channels =
      d.rank == 2 || d.rank == 3 ? d.shape[static_cast<std::size_t>(d.rank - 1)] : std::int64_t{0};
  return cpu::passed_back(cpu::keep_input(cpu::kInputBackward, scheme, weights, channels), args);
}

}  // namespace posenc::inline v0_2
