// Reads a GGUF header's keys for one architecture, typed and bounded; records what was read, warnings, the first error.
#include "plan/gguf/scope.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"

namespace posenc::plan {
namespace {

using io::GgufType;

constexpr std::size_t kShownBytes = 64;

bool is_integer(GgufType type) {
  return type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean && type != GgufType::text &&
         type != GgufType::array;
}

std::string shown(GgufType type, const io::GgufNumber& number) {
  if (type == GgufType::boolean) return number.real != 0 ? "true" : "false";
  return number.integer ? formatted("{}", *number.integer) : formatted("{}", number.real);
}

}  // namespace

std::string shown(const io::GgufValue& value) {
  switch (value.type) {
    case GgufType::array: return formatted("an array of {} of type {}", value.count, io::name(value.element));
    case GgufType::text:
      return value.text.size() > kShownBytes || value.text.size() < value.count
                 ? formatted("a string of {} bytes", value.count)
                 : formatted("\"{}\"", value.text);
    default: return shown(value.type, value.numbers.front());
  }
}

GgufScope::GgufScope(const io::GgufHeader& header, const GgufArchitecture& architecture, std::string file)
    : header_(header), architecture_(architecture), file_(std::move(file)) {}

std::string GgufScope::key(std::string_view name) const { return formatted("{}.{}", architecture_.name, name); }

const io::GgufValue* GgufScope::peek(std::string_view name) const { return header_.find(key(name)); }

const io::GgufValue* GgufScope::read(std::string_view name) {
  if (error_) return nullptr;
  const io::GgufValue* value = peek(name);
  if (value != nullptr) read_.insert(value);
  return value;
}

std::optional<std::int64_t> GgufScope::as_integer(const io::GgufValue& value, const io::GgufNumber& number,
                                                  Bounds bounds) {
  const GgufType type = value.type == GgufType::array ? value.element : value.type;
  const bool flags = value.type == GgufType::array && type == GgufType::boolean && bounds.high == 1;
  if (!is_integer(type) && !flags) {
    fail_at(value, ErrorKind::type, "an integer", formatted("{} of type {}", shown(value), io::name(type)));
    return {};
  }
  if (number.integer && *number.integer >= bounds.low && *number.integer <= bounds.high) return number.integer;
  fail_at(value, ErrorKind::out_of_range, formatted("an integer from {} to {}", bounds.low, bounds.high),
          shown(type, number));
  return {};
}

Setting<std::int64_t> GgufScope::integer(std::string_view name, Bounds bounds) {
  const io::GgufValue* value = read(name);
  if (value == nullptr) return {};
  if (value->type != GgufType::array && value->type != GgufType::text) {
    return {as_integer(*value, value->numbers.front(), bounds), value->key};
  }
  fail_at(*value, ErrorKind::type, "an integer", shown(*value));
  return {};
}

Setting<double> GgufScope::number(std::string_view name) {
  const io::GgufValue* value = read(name);
  if (value == nullptr) return {};
  if (value->type == GgufType::array || value->type == GgufType::text || value->type == GgufType::boolean) {
    fail_at(*value, ErrorKind::type, "a number", shown(*value));
    return {};
  }
  const double number = value->numbers.front().real;
  if (math::fits_float(number)) return {number, value->key};
  if (std::isfinite(number)) {
    fail_at(*value, ErrorKind::out_of_range, std::string(math::kFitsFloat), shown(*value));
  } else {
    fail_at(*value, ErrorKind::not_finite, "a finite number", shown(*value));
  }
  return {};
}

Setting<double> GgufScope::positive(std::string_view name) {
  Setting<double> given = number(name);
  if (given.value && *given.value <= 0) fail(name, ErrorKind::out_of_range, "a number above 0");
  return given;
}

Setting<double> GgufScope::not_negative(std::string_view name) {
  Setting<double> given = number(name);
  if (given.value && *given.value < 0) fail(name, ErrorKind::out_of_range, "a number that is not negative");
  return given;
}

Setting<bool> GgufScope::flag(std::string_view name) {
  const io::GgufValue* value = read(name);
  if (value == nullptr) return {};
  if (value->type == GgufType::boolean) return {value->numbers.front().real != 0, value->key};
  fail_at(*value, ErrorKind::type, "true or false", shown(*value));
  return {};
}

Setting<std::string> GgufScope::text(std::string_view name) {
  const io::GgufValue* value = read(name);
  if (value == nullptr) return {};
  if (value->type == GgufType::text && value->text.size() == value->count) return {value->text, value->key};
  fail_at(*value, ErrorKind::type, "a short string", shown(*value));
  return {};
}

Setting<std::vector<std::int64_t>> GgufScope::list(std::string_view name, Bounds bounds) {
  const io::GgufValue* value = read(name);
  if (value == nullptr) return {};
  if (value->type != GgufType::array || value->numbers.size() != value->count) {
    fail_at(*value, value->type == GgufType::array ? ErrorKind::limit : ErrorKind::type, "a short list of integers",
            shown(*value));
    return {};
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(value->numbers.size());
  for (const io::GgufNumber& number : value->numbers) {
    const std::optional<std::int64_t> integer = as_integer(*value, number, bounds);
    if (!integer) return {};
    numbers.push_back(*integer);
  }
  return {std::move(numbers), value->key};
}

Setting<std::vector<std::int64_t>> GgufScope::per_layer(std::string_view name, Bounds bounds, std::int64_t layers) {
  const io::GgufValue* value = peek(name);
  if (value == nullptr || value->type != GgufType::array) {
    const Setting<std::int64_t> one = integer(name, bounds);
    if (!one.value) return {{}, one.from};
    return {std::vector<std::int64_t>(static_cast<std::size_t>(layers), *one.value), one.from};
  }
  if (value->count == static_cast<std::uint64_t>(layers)) return list(name, bounds);
  fail(name, ErrorKind::length_mismatch, formatted("one number for each of the {} layers", layers));
  return {};
}

Sourced<std::int64_t> GgufScope::required_integer(std::string_view name, Bounds bounds) {
  const Setting<std::int64_t> setting = integer(name, bounds);
  if (setting.value) return {*setting.value, setting.from};
  fail_missing(name);
  return {bounds.low, {}};
}

std::optional<bool> GgufScope::has_tensor(std::string_view name) const {
  if (header_.tensor(name) != nullptr) return true;
  const io::GgufValue* parts = header_.find("split.count");
  const bool more_parts = parts != nullptr && !parts->numbers.empty() && parts->numbers.front().real > 1;
  if (header_.tensor_count == 0 || more_parts) return {};
  return false;
}

void GgufScope::fail(FileError error) {
  if (error_) return;
  error.file = file_;
  error_ = std::move(error);
}

void GgufScope::fail_at(const io::GgufValue& value, ErrorKind kind, std::string expected, std::string got,
                        std::string detail) {
  fail(FileError{.kind = kind,
                 .offset = static_cast<std::int64_t>(value.offset),
                 .path = value.key,
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .detail = std::move(detail)});
}

void GgufScope::fail(std::string_view name, ErrorKind kind, std::string expected, std::string detail) {
  if (const io::GgufValue* value = peek(name)) {
    return fail_at(*value, kind, std::move(expected), shown(*value), std::move(detail));
  }
  fail_absent(name, kind, std::move(expected), "none", std::move(detail));
}

void GgufScope::fail_absent(std::string_view name, ErrorKind kind, std::string expected, std::string got,
                            std::string detail) {
  fail(FileError{.kind = kind,
                 .path = key(name),
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .detail = std::move(detail)});
}

void GgufScope::fail_missing(std::string_view name, std::string why) {
  fail_absent(name, ErrorKind::missing_key, "this key", "a file without it", std::move(why));
}

void GgufScope::warn(std::string_view code, std::string message, std::vector<std::string> keys) {
  warnings_.add(code, std::move(message), std::move(keys));
}

void GgufScope::undecided(std::string_view code, std::string message, std::vector<std::string> keys) {
  undecided_.push_back(message);
  warn(code, std::move(message), std::move(keys));
}

std::vector<std::string> GgufScope::ignored_keys() const {
  std::vector<std::string> ignored;
  const std::string prefix = key("");
  for (const io::GgufValue& value : header_.values) {
    if (value.key.starts_with(prefix) && !read_.contains(&value)) ignored.push_back(value.key);
  }
  return ignored;
}

std::vector<Warning> GgufScope::take_warnings() { return warnings_.take(); }

}  // namespace posenc::plan
