// reference::add_input: the input stage in double, token by token: out = (m x + token type's row) + p, or times p.
//
// A row of a learned table is looked up, one of a fixed encoding is made where it is needed (posenc/input.h).
// Sinusoids: arXiv 1706.03762, 3.5; segments: BERT, arXiv 1810.04805.
#include <cmath>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr const char* kAddInput = "reference::add_input";
constexpr double kMostExact = 9007199254740992.0;  // 2^53, up to which every whole number is a double

void require_input(bool holds, std::string field, std::string must, std::string is) {
  if (!holds) throw Error(kAddInput, {std::move(field), std::move(must), std::move(is)});
}

std::string shape_text(const ConstTensorView& view) {
  std::string out = "[";
  for (int axis = 0; axis < view.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", view.shape[static_cast<std::size_t>(axis)]);
  }
  return out + "]";
}

// x may be strided and of any dtype. The positions must be as many as tokens: there is one axis.
void check(const InputArgs& args) {
  require_input(args.x.rank == 2, "x", "be [tokens, channels]", shape_text(args.x));
  require_input(args.out.rank == 2 && args.out.shape == args.x.shape, "out",
                "have the shape of x, " + shape_text(args.x) + ",", shape_text(args.out));
  require_input(args.out.dtype == DType::f64, "out.dtype", "be f64", std::string(name(args.out.dtype)));
  const std::int64_t tokens = args.x.shape[0];
  const bool has_elements = tokens * args.x.shape[1] > 0;
  require_input(!has_elements || args.x.data != nullptr, "x.data", "point to the elements", "null");
  require_input(!has_elements || args.out.data != nullptr, "out.data", "point to the elements", "null");
  std::visit(
      [&](const auto& given) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          require_input(std::ssize(given) == tokens, "positions",
                        formatted("have one entry for each of {} tokens", tokens), formatted("{} long", given.size()));
        }
      },
      args.positions);
}

// Of a table [rows, channels], or none at all.
void check_table(const ConstTensorView& table, const char* field, std::int64_t channels) {
  require_input(table.rank == 2 && table.shape[1] == channels, field, formatted("be [rows, {}]", channels),
                shape_text(table));
  require_input(table.shape[0] * channels == 0 || table.data != nullptr, std::string(field) + ".data",
                "point to the elements", "null");
}

// Where token t stands; positions may be fractions, which sinusoids take.
double place_of(const InputArgs& args, std::int64_t t) {
  return std::visit(
      [&](const auto& given) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          return static_cast<double>(given.start + t);
        } else {
          return static_cast<double>(given[static_cast<std::size_t>(t)]);
        }
      },
      args.positions);
}

// For tables and bits, which have nothing between whole places.
std::int64_t whole_place_of(const InputArgs& args, std::int64_t t) {
  const double place = place_of(args, t);
  require_input(place == std::floor(place) && std::abs(place) <= kMostExact, formatted("positions[{}]", t),
                "be a whole number of at most 2^53", formatted("{}", place));
  return static_cast<std::int64_t>(place);
}

// out = (m x + added) + p, or times p. row(t): p [channels]; added(t, c): a number. All is made before it is written.
template <typename Row, typename Added>
void combine(const InputArgs& args, double m, InputCombine how, Row&& row, Added&& added) {
  const std::int64_t tokens = args.x.shape[0];
  const std::int64_t channels = args.x.shape[1];
  std::vector<double> result;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::vector<double> p = row(t);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double content = m * element(args.x, {t, c}) + added(t, c);
      const double position = p[static_cast<std::size_t>(c)];
      result.push_back(how == InputCombine::add ? content + position : content * position);
    }
  }
  for (std::int64_t i = 0; i < std::ssize(result); ++i) {
    static_cast<double*>(args.out.data)[i / channels * args.out.strides[0] + i % channels * args.out.strides[1]] =
        result[static_cast<std::size_t>(i)];
  }
}

template <typename Row>
void combine(const InputArgs& args, double m, InputCombine how, Row&& row) {
  require_input(args.token_types.empty(), "token_types", "be omitted for an encoding without a table of them", "given");
  combine(args, m, how, row, [](std::int64_t, std::int64_t) { return 0.0; });
}

// A scheme that has token types needs one for each token; one that does not say may still be given a table and types.
void check_token_types(const LearnedInput& scheme, const ConstTensorView& table, const InputArgs& args) {
  const std::int64_t tokens = args.x.shape[0];
  if (args.token_types.empty()) {
    require_input(!scheme.token_types || tokens == 0, "token_types",
                  formatted("be given, as the scheme adds one of {} rows,", scheme.token_types.value_or(0)), "empty");
    return;
  }
  require_input(std::ssize(args.token_types) == tokens, "token_types",
                formatted("have one for each of {} tokens", tokens), formatted("{} long", args.token_types.size()));
  check_table(table, "weights.token_types", args.x.shape[1]);
  require_input(!scheme.token_types || table.shape[0] == *scheme.token_types, "weights.token_types",
                formatted("have {} rows", scheme.token_types.value_or(0)), shape_text(table));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t type = args.token_types[static_cast<std::size_t>(t)];
    require_input(type >= 0 && type < table.shape[0], formatted("token_types[{}]", t),
                  formatted("be at least 0 and below {}", table.shape[0]), formatted("{}", type));
  }
}

}  // namespace

void add_input(const LearnedInput& scheme, const LearnedInputWeights& weights, const InputArgs& args) {
  check(args);
  const std::int64_t channels = args.x.shape[1];
  check_table(weights.positions, "weights.positions", channels);
  const std::int64_t rows = weights.positions.shape[0];
  require_input(scheme.positions == 0 || rows == scheme.positions, "weights.positions",
                formatted("have {} rows", scheme.positions), shape_text(weights.positions));
  require_input(std::abs(static_cast<double>(scheme.offset)) <= kMostExact, "scheme.offset", "be within 2^53 of 0",
                formatted("{}", scheme.offset));
  check_token_types(scheme, weights.token_types, args);
  const auto row = [&](std::int64_t t) {
    const std::int64_t place = whole_place_of(args, t);
    require_input(place >= -scheme.offset && place < rows - scheme.offset, formatted("positions[{}]", t),
                  formatted("find one of the table's {} rows, position + {},", rows, scheme.offset),
                  formatted("{}", place));
    std::vector<double> p;
    for (std::int64_t c = 0; c < channels; ++c) p.push_back(element(weights.positions, {place + scheme.offset, c}));
    return p;
  };
  combine(args, scheme.embedding_multiplier, scheme.combine, row, [&](std::int64_t t, std::int64_t c) {
    if (args.token_types.empty()) return 0.0;
    return element(weights.token_types, {args.token_types[static_cast<std::size_t>(t)], c});
  });
}

void add_input(const SinusoidalInput& scheme, const SinusoidalInputWeights& weights, const InputArgs& args) {
  check(args);
  require_input(weights.scale.has_value() == scheme.learned_scale, "weights.scale",
                scheme.learned_scale ? "be given to a scheme with a learned scale" : "be omitted for this scheme",
                weights.scale ? "given" : "omitted");
  combine(args, scheme.embedding_multiplier, scheme.combine, [&](std::int64_t t) {
    std::vector<double> p = input_row(scheme, args.x.shape[1], place_of(args, t));
    for (double& value : p) value *= weights.scale.value_or(1.0);
    return p;
  });
}

void add_input(const IntegerInput& scheme, const InputArgs& args) {
  check(args);
  const std::int64_t length = args.length.value_or(args.x.shape[0]);
  combine(args, scheme.embedding_multiplier, scheme.combine,
          [&](std::int64_t t) { return input_row(scheme, args.x.shape[1], place_of(args, t), length); });
}

void add_input(const BinaryInput& scheme, const InputArgs& args) {
  check(args);
  combine(args, scheme.embedding_multiplier, scheme.combine,
          [&](std::int64_t t) { return input_row(scheme, args.x.shape[1], whole_place_of(args, t)); });
}

}  // namespace posenc::inline v0_2::reference
