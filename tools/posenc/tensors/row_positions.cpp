// Positions of the command line or of a file, checked once against the tensor's tokens and then asked for, some rows at
// a time. What is wrong with a word is exit code 2, what is wrong with a file 3 or 4.
#include "tensors/row_positions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kFarthest = 1LL << 53;  // rotary_table.h

// ---- words ----

[[noreturn]] void refuse_word(const PositionWord& word, std::string_view why) {
  throw UsageError{formatted("{}: expected a start such as 0, a list such as 5,0,9, or a file, got '{}' ({})",
                             word.flag, printable(shorten(word.text, 60)), why)};
}

// Whether it can be nothing but numbers: a file called 7 is meant by ./7.
bool is_numbers(const std::string& text) {
  return text.find_first_not_of("0123456789,.+-eE") == std::string::npos && text.front() != 'e' && text.front() != 'E';
}

template <typename T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stopped != text.data() + text.size()) return {};
  return value;
}

// One whole number is a start, "5,0,9" a list of whole numbers; with "2.5" or "1e3" in it all are doubles, one alone
// being a list of one.
void read_numbers(PositionWord& word) {
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  for (const std::string& part : split(word.text)) {  // parts may be empty: "5,,9" lacks a number
    if (const auto n = parsed<std::int64_t>(part)) whole.push_back(*n);
    const auto x = parsed<double>(part);
    if (!x || !std::isfinite(*x)) {
      refuse_word(word, part.empty() ? "a number is missing" : formatted("'{}' is not a number", part));
    }
    if (std::fabs(*x) > static_cast<double>(kFarthest)) {
      refuse_word(word, formatted("positions go from -2^53 to 2^53, and {} is beyond", part));
    }
    real.push_back(*x);
  }
  word.shape = {std::ssize(real)};
  if (whole.size() == 1 && real.size() == 1) {
    word.values = whole.front();
  } else if (whole.size() == real.size()) {
    word.values = std::move(whole);
  } else {
    word.values = std::move(real);
  }
}

// ---- files ----

template <typename To, typename From>
std::vector<To> elements(const TensorData& data) {
  std::int64_t count = 1;
  for (const std::int64_t size : data.shape()) count *= size;
  std::vector<To> out;
  out.reserve(static_cast<std::size_t>(count));
  std::vector<std::int64_t> at(data.shape().size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) from += at[axis] * data.strides()[axis];
    From value{};
    std::memcpy(&value, data.bytes().data() + static_cast<std::size_t>(from) * sizeof value, sizeof value);
    out.push_back(static_cast<To>(value));
    for (std::size_t axis = at.size(); axis-- > 0 && ++at[axis] == data.shape()[axis];) at[axis] = 0;
  }
  return out;
}

// A number beyond int64_t becomes its largest, which find_range() refuses as it would have refused that number.
std::vector<std::int64_t> bounded(const std::vector<std::uint64_t>& values) {
  std::vector<std::int64_t> out;
  for (const std::uint64_t x : values) out.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(x, INT64_MAX)));
  return out;
}

void read_file(PositionWord& word) {
  const TensorWord asked{.flag = word.flag, .text = word.text};
  const TensorArgument tensor = read_tensor_argument(asked);
  const TensorData& data = tensor.data;
  word.file = tensor.file;
  word.shape.assign(data.shape().begin(), data.shape().end());
  switch (data.type()) {
    case ElementType::i64: word.values = elements<std::int64_t, std::int64_t>(data); break;
    case ElementType::i32: word.values = elements<std::int64_t, std::int32_t>(data); break;
    case ElementType::i16: word.values = elements<std::int64_t, std::int16_t>(data); break;
    case ElementType::i8: word.values = elements<std::int64_t, std::int8_t>(data); break;
    case ElementType::u64: word.values = bounded(elements<std::uint64_t, std::uint64_t>(data)); break;
    case ElementType::u32: word.values = elements<std::int64_t, std::uint32_t>(data); break;
    case ElementType::u16: word.values = elements<std::int64_t, std::uint16_t>(data); break;
    case ElementType::u8: word.values = elements<std::int64_t, std::uint8_t>(data); break;
    case ElementType::f64: word.values = elements<double, double>(data); break;
    case ElementType::f32: word.values = elements<double, float>(data); break;
    case ElementType::f16:
    case ElementType::bf16:
      refuse(asked, tensor,
             formatted("expected positions as i64, i32, f64 or f32, got {}, which is exact for few integers",
                       name(data.type())));
    default: refuse(asked, tensor, formatted("expected positions as i64, i32, f64 or f32, got {}", name(data.type())));
  }
}

}  // namespace

PositionWord read_positions(const std::string& text, const std::string& flag) {
  PositionWord word{.text = text, .flag = flag};
  if (text.empty()) refuse_word(word, "empty");
  if (is_numbers(text)) {
    read_numbers(word);
  } else {
    read_file(word);
  }
  return word;
}

// ---- rows ----

RowPositions::RowPositions(PositionWord word, std::vector<std::string> axes, std::int64_t batch, std::int64_t tokens,
                           std::int64_t offset)
    : word_(std::move(word)), axes_(std::move(axes)), batch_(batch), tokens_(tokens), offset_(offset) {
  check_shape();
  find_range();
}

void RowPositions::refuse(const std::string& what) const {
  if (word_.file.empty()) throw UsageError{formatted("{}: {}", word_.flag, what)};
  throw failure(kMalformed, formatted("{}: {}: {}", word_.flag, printable(word_.file), what));
}

// A list of one axis may leave the axis out, and one of the command line has no shape. Of several axes, [tokens, axes]
// would be as long, and mean something else.
void RowPositions::check_shape() const {
  const std::int64_t axes = std::ssize(axes_);
  if (word_.counted()) {
    // Tokens of text stand at one time on all axes; a patch that is counted would stand on the diagonal.
    if (axes == 1 || std::find(axes_.begin(), axes_.end(), "t") != axes_.end()) return;
    refuse(formatted("this layer rotates by {}: expected a list of {}, all of the first axis before the second",
                     printable(join(axes_, " and ")), shape_text({axes, tokens_})));
  }
  // What fits: one list for every sequence, or one for each, those of a sequence side by side.
  std::vector<std::vector<std::int64_t>> fit{{axes, tokens_}, {axes, batch_ * tokens_}, {axes, batch_, tokens_}};
  if (axes == 1) fit.insert(fit.end(), {{tokens_}, {batch_ * tokens_}, {batch_, tokens_}});
  if (word_.file.empty()) fit.insert(fit.end(), {{axes * tokens_}, {axes * batch_ * tokens_}});
  if (std::find(fit.begin(), fit.end(), word_.shape) != fit.end()) return;
  std::vector<std::int64_t> wanted = fit.front();
  if (axes == 1) wanted = {tokens_};
  const std::string each = batch_ == 1 ? "" : formatted(", or so for each of {} sequences", batch_);
  const bool one_real = word_.file.empty() && word_.shape == std::vector<std::int64_t>{1};
  refuse(formatted("expected positions of the shape {}{}, got {}{}", shape_text(wanted), each, shape_text(word_.shape),
                   one_real ? "; a start is a whole number" : ""));
}

// Whole numbers are compared as such: 2^53 + 1 is 2^53 as a double.
void RowPositions::find_range() {
  const auto check = [&](auto x) {
    constexpr auto kMost = static_cast<decltype(x)>(kFarthest);
    if (!(x >= -kMost && x <= kMost)) refuse(formatted("expected positions from -2^53 to 2^53, got {}", x));
  };
  const auto set = [&](auto low, auto high) {
    check(low);
    check(high);
    const auto add = static_cast<decltype(low)>(offset_);
    check(low + add);
    check(high + add);
    least_ = static_cast<double>(low + add);
    most_ = static_cast<double>(high + add);
  };
  if (const auto* start = std::get_if<std::int64_t>(&word_.values)) {
    check(*start);
    set(*start, *start + std::max<std::int64_t>(tokens_ - 1, 0));
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&word_.values)) {
    if (whole->empty()) return;
    const auto [low, high] = std::minmax_element(whole->begin(), whole->end());
    set(*low, *high);
  } else {
    const auto& real = std::get<std::vector<double>>(word_.values);
    for (const double x : real) check(x);  // a NaN is neither the least nor the most
    if (real.empty()) return;
    const auto [low, high] = std::minmax_element(real.begin(), real.end());
    set(*low, *high);
  }
}

// Doubles can be whole too: 5.0. --check has another bound for those that are not (rotation_error.cpp).
bool RowPositions::whole() const {
  const auto* real = std::get_if<std::vector<double>>(&word_.values);
  return real == nullptr || std::all_of(real->begin(), real->end(), [](double x) { return x == std::floor(x); });
}

// A start counts the tokens of each sequence, on every axis alike; a list is gathered.
RowPositions::List RowPositions::of(const std::vector<Row>& rows) const {
  const auto axes = static_cast<std::size_t>(std::ssize(axes_));
  if (const auto* start = std::get_if<std::int64_t>(&word_.values)) {
    std::vector<std::int64_t> out;
    out.reserve(axes * rows.size());
    for (std::size_t axis = 0; axis < axes; ++axis) {
      for (const Row& row : rows) out.push_back(*start + offset_ + row.token);
    }
    return out;
  }
  const auto gather = [&](const auto& list) {
    std::decay_t<decltype(list)> out;
    out.reserve(axes * rows.size());
    // `list` is [axes, tokens] or [axes, batch * tokens].
    const std::size_t stride = list.size() / axes;  // of an axis; one list may serve every sequence
    const bool shared = stride == static_cast<std::size_t>(tokens_);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      for (const Row& row : rows) {
        const auto at = static_cast<std::size_t>((shared ? 0 : row.sequence * tokens_) + row.token);
        out.push_back(list[axis * stride + at] + static_cast<typename decltype(out)::value_type>(offset_));
      }
    }
    return out;
  };
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&word_.values)) return gather(*whole);
  return gather(std::get<std::vector<double>>(word_.values));
}

double first_coordinate(const RowPositions& positions, const Row& row) {
  return std::visit([](const auto& values) { return static_cast<double>(values.front()); }, positions.of({row}));
}

Positions view(const RowPositions::List& list) {
  return std::visit([](const auto& values) -> Positions { return std::span(values); }, list);
}

}  // namespace posenc::tool
