#include "tensors/expected_port.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/text.h"
#include "posenc/error.h"
#include "tensors/file_error_text.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

struct PortTensor {
  std::string result;
  TensorData data;
};

Failure about_port(const std::string& file, const std::string& what) {
  return failure(kMalformed, formatted("--expect: {}: {}", printable(file), what));
}

// Of a number type, and of few enough axes.
void require_port_numbers(const std::string& file, const PortTensor& tensor) {
  if (!dtype_of(tensor.data.type())) {
    const bool raw = tensor.data.type() == ElementType::u16;
    throw about_port(file, formatted("{}: expected f32, f16, bf16 or f64, got {}{}", tensor.result,
                                     name(tensor.data.type()), raw ? "; if these are bf16, give --bf16" : ""));
  }
  if (tensor.data.shape().size() > static_cast<std::size_t>(kMaxRank)) {
    throw about_port(
        file, formatted("{}: expected at most {} axes, got {}", tensor.result, kMaxRank, tensor.data.shape().size()));
  }
}

TensorData read_result(const TensorFile& file, const std::string& text, const ExpectedName& wanted, bool is_only) {
  const auto& tensors = file.tensors();
  const auto called = [&](const std::string& name) { return std::ranges::find(tensors, name, &TensorEntry::name); };
  auto found = is_only ? tensors.begin() : called(wanted.result);
  if (found == tensors.end()) found = called(wanted.other);
  if (found == tensors.end()) {
    const std::string other = wanted.other == wanted.result ? "" : " or " + wanted.other;
    throw about_port(text, formatted("no tensor named {}{}; there are {}", wanted.result, other, tensors.size()));
  }
  Result<TensorData> data = file.read(found - tensors.begin());
  if (!data) throw Failure{"--expect: " + file_error_text(data.error()), exit_code_of(data.error())};
  return std::move(data).value();
}

std::vector<PortTensor> read_port(const std::string& text, bool bf16, std::span<const ExpectedName> names) {
  const TensorWord word{"--expect", text, bf16};
  std::vector<PortTensor> out;
  std::error_code error;
  if (std::filesystem::exists(text, error)) {
    std::string held;
    const TensorFile file = open_tensor_word(word, text, held);
    const bool is_only = names.size() == 1 && file.tensors().size() == 1;
    for (const ExpectedName& wanted : names) {
      out.push_back({wanted.result, read_result(file, text, wanted, is_only)});
    }
  } else {  // FILE:TENSOR, standard input, or nothing
    TensorArgument one = read_tensor_argument(word);
    if (names.size() > 1) {
      throw UsageError{formatted("--expect: {} and {} are compared; give a file that holds both, by these names",
                                 names[0].result, names[1].result)};
    }
    out.push_back({names[0].result, std::move(one.data)});
  }
  for (const PortTensor& tensor : out) require_port_numbers(text, tensor);
  return out;
}

// [tokens, heads, channels] of one sequence.
ConstTensorView sequence_of(ConstTensorView x, std::int64_t sequence) {
  if (x.empty() || x.rank == 3) return x;
  x.data = static_cast<const std::byte*>(x.data) + sequence * x.strides[0] * bytes_of(x.dtype);
  x.rank = 3;
  x.shape = {x.shape[2], x.shape[1], x.shape[3]};
  x.strides = {x.strides[2], x.strides[1], x.strides[3]};
  return x;
}

// Of a port's tensor, whose first axis is the batch; of one sequence it may have none.
ConstTensorView port_sequence_of(const std::string& file, ConstTensorView x, std::int64_t sequence,
                                 std::int64_t batch) {
  if (batch == 1) return x;
  if (x.rank < 3 || x.shape[0] != batch) {
    throw about_port(file,
                     formatted("expected [{}, ...], a batch of {} sequences before the other axes", batch, batch));
  }
  x.data = static_cast<const std::byte*>(x.data) + sequence * x.strides[0] * bytes_of(x.dtype);
  for (std::size_t axis = 1; axis < static_cast<std::size_t>(x.rank); ++axis) {
    x.shape[axis - 1] = x.shape[axis];
    x.strides[axis - 1] = x.strides[axis];
  }
  --x.rank;
  return x;
}

// Without the offset, which the layer's rotation adds again. Empty: by their order.
std::vector<std::int64_t> port_positions(const ExpectedCall& call, std::int64_t sequence, std::int64_t tokens) {
  std::vector<std::int64_t> out;
  if (call.positions == nullptr) return out;
  if (!call.positions->whole())
    throw UsageError{"--expect: positions must be whole numbers, to be compared with a port"};
  std::vector<Row> rows;
  for (std::int64_t t = 0; t < tokens; ++t) rows.push_back({sequence, t});
  const RowPositions::List list = call.positions->of(rows);
  std::visit(
      [&](const auto& numbers) {
        for (const auto one : numbers) out.push_back(static_cast<std::int64_t>(one) - call.offset);
      },
      list);
  return out;
}

double port_over_bound(const PortCheck& check) {
  double out = 0.0;
  for (const CheckedTensor& one : check.tensors) out = std::max(out, one.over_bound);
  return out;
}

}  // namespace

ExpectedPort check_expected(const ExpectedCall& call, const std::string& file, bool bf16,
                            std::span<const ExpectedName> names) {
  const std::vector<PortTensor> port = read_port(file, bf16, names);
  const ConstTensorView& any = call.q.empty() ? call.k : call.q;
  ExpectedPort out;
  out.sequences = any.rank == 4 ? any.shape[0] : 1;
  const std::int64_t tokens = any.shape[any.rank == 4 ? 2 : 0];
  if (out.sequences < 1 || tokens < 1) throw about_port(file, "there are no tokens to compare");
  try {
    for (std::int64_t b = 0; b < out.sequences; ++b) {
      const std::vector<std::int64_t> positions = port_positions(call, b, tokens);
      const Vectors golden = make_vectors(call.plan, call.layer,
                                          {.q = sequence_of(call.q, b),
                                           .k = sequence_of(call.k, b),
                                           .v = sequence_of(call.v, b),
                                           .positions = positions,
                                           .tables = call.tables});
      std::vector<NamedTensor> outputs;
      for (const PortTensor& one : port) {
        if (golden.find(one.result) == nullptr) throw about_port(file, join(golden.left_out, "; "));
        outputs.push_back({one.result, port_sequence_of(file, one.data.view(), b, out.sequences)});
      }
      PortCheck check = check_port(golden, outputs);
      if (b == 0 || !check.passes || port_over_bound(check) > port_over_bound(out.check)) {
        out.check = std::move(check);
        out.sequence = b;
      }
      if (!out.check.passes) break;
    }
  } catch (const Error& error) {
    throw about_port(file, error.what());
  }
  return out;
}

std::string expected_line(const std::string& file, const ExpectedPort& port) {
  double largest = 0.0;
  for (const CheckedTensor& one : port.check.tensors) largest = std::max(largest, one.largest);
  const std::string where = port.sequences == 1 ? ""
                            : port.check.passes ? formatted("; {} sequences", port.sequences)
                                                : formatted("; in sequence {}", port.sequence);
  return formatted("{} {}: largest error {}, at most {} of its bound{}", printable(file),
                   port.check.passes ? "passes" : "fails", number(largest, 2), number(port_over_bound(port.check), 2),
                   where);
}

std::string expected_diagnosis(const ExpectedPort& port) {
  return port.check.passes ? "" : "\n" + describe(port.check);
}

std::string expected_json(const std::optional<std::string>& file, const std::optional<ExpectedPort>& port) {
  if (!file || !port) return "null";
  return json_object({{"file", json_string(*file)},
                      {"passes", port->check.passes ? "true" : "false"},
                      {"sequence", std::to_string(port->sequence)},
                      {"check", to_json(port->check)}});
}

}  // namespace posenc::tool
