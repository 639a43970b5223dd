// Reads one object of a plan's JSON strictly: types, ranges, no unknown key, names of one schema_version only.
#include "plan/json/object.h"

#include <algorithm>
#include <limits>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "plan/json/plan_json.h"
#include "plan/json/version_1.h"

namespace posenc::plan {
namespace {

// Of all stacks together. The deepest models have about a thousand; work on a plan may grow with the square.
constexpr std::int64_t kMaxLayersRead = 16384;

bool contains(Range range, double value) { return value > range.low || (range.low_is_inside && value >= range.low); }

std::string expectation(std::string_view what, Range range) {
  if (range.low == -std::numeric_limits<double>::infinity()) return std::string(what);
  return formatted("{} {} {}", what, range.low_is_inside ? "of at least" : "above", range.low);
}

}  // namespace

std::optional<io::JsonValue> ObjectReader::member(std::string_view key) {
  if (failed()) return std::nullopt;
  const std::string_view written = name_in(reading_.version, key);
  asked_.push_back(written);
  Result<std::optional<io::JsonValue>> found = object_.find(written);
  if (!found) {
    reading_.fail(found.error());
    return std::nullopt;
  }
  return *found;
}

std::optional<io::JsonValue> ObjectReader::required(std::string_view key) {
  std::optional<io::JsonValue> found = member(key);
  if (!found && !failed()) refuse_mixture();
  if (!found && !failed()) {
    FileError error = object_.error(ErrorKind::missing_key, formatted("the key '{}'", name_in(reading_.version, key)));
    error.got = "an object without it";
    reading_.fail(std::move(error));
  }
  return found;
}

// A name of the other version explains more than that it is not known, or that this version's is absent.
void ObjectReader::refuse_mixture() {
  for (const io::JsonValue& item : object_.items()) {
    const auto meant = mixed_in(reading_.version, item.key());
    if (!meant || std::find(asked_.begin(), asked_.end(), item.key()) != asked_.end()) continue;
    return fail_mixed(item, item.key(), *meant);
  }
}

void ObjectReader::fail_mixed(const io::JsonValue& at, std::string_view written, std::string_view meant) {
  FileError error =
      at.error(ErrorKind::bad_plan, formatted("'{}'", meant), std::string(of_other_version(reading_.version)));
  error.got = formatted("'{}'", written);
  reading_.fail(std::move(error));
}

void ObjectReader::finish() {
  if (failed()) return;
  refuse_mixture();
  if (failed()) return;
  for (const io::JsonValue& item : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), item.key()) == asked_.end()) {
      reading_.fail(item, ErrorKind::bad_plan, "no such key", "plans know no other keys than docs/plan.schema.json");
      return;
    }
  }
}

std::vector<io::JsonValue> ObjectReader::elements(const io::JsonValue& value) {
  if (failed()) return {};
  if (value.kind() != io::JsonKind::array) {
    reading_.fail(value, ErrorKind::type, "an array");
    return {};
  }
  return value.items();
}

void ObjectReader::read(const io::JsonValue& value, bool& to, Range) {
  if (failed()) return;
  const Result<bool> got = value.as_bool();
  if (!got) return reading_.fail(got.error());
  to = *got;
}

void ObjectReader::read(const io::JsonValue& value, std::int64_t& to, Range range) {
  if (failed()) return;
  const Result<std::int64_t> got = value.as_int();
  if (!got) return reading_.fail(got.error());
  to = *got;
  if (!contains(range, static_cast<double>(to))) {
    reading_.fail(value, ErrorKind::out_of_range, expectation("an integer", range));
  }
}

void ObjectReader::read(const io::JsonValue& value, std::int32_t& to, Range range) {
  std::int64_t wide = 0;
  read(value, wide, range);
  if (failed()) return;
  to = static_cast<std::int32_t>(wide);
  if (to != wide) reading_.fail(value, ErrorKind::out_of_range, "an integer of 32 bits");
}

void ObjectReader::read(const io::JsonValue& value, double& to, Range range) {
  if (failed()) return;
  const Result<double> got = value.as_double();
  if (!got) return reading_.fail(got.error());
  to = *got;
  if (!contains(range, to)) return reading_.fail(value, ErrorKind::out_of_range, expectation("a number", range));
  if (!math::fits_float(to)) reading_.fail(value, ErrorKind::out_of_range, std::string(math::kFitsFloat));
}

void ObjectReader::read(const io::JsonValue& value, std::string& to, Range range) {
  if (failed()) return;
  const Result<std::string_view> got = value.as_string();
  if (!got) return reading_.fail(got.error());
  if (got->size() > range.most_bytes) {
    return reading_.fail(value, ErrorKind::limit, formatted("a name of at most {} bytes", range.most_bytes));
  }
  to = *got;
}

void ObjectReader::read(const io::JsonValue& value, std::vector<ValueSource>& to, Range) {
  if (failed()) return;
  if (value.kind() != io::JsonKind::object) return reading_.fail(value, ErrorKind::type, "an object");
  for (const io::JsonValue& item : value.items()) {
    ValueSource& source = to.emplace_back();
    const std::optional<std::string> where = place_from(reading_.version, item.key());
    if (!where) {
      return reading_.fail(item, ErrorKind::bad_plan, formatted("names of schema_version {}", reading_.version),
                           std::string(of_other_version(reading_.version)));
    }
    source.where = *where;
    read(item, source.from, {});
  }
}

void ObjectReader::read(const io::JsonValue& value, LayerPlan& to, Range) {
  if (failed()) return;
  if (++reading_.layers > kMaxLayersRead) {
    return reading_.fail(value, ErrorKind::limit, formatted("at most {} layers", kMaxLayersRead));
  }
  ObjectReader layer(value, reading_);
  layer.field("index", to.index, at_least(0));
  kind_fields(layer, to);
  const bool has_more = to.kind == LayerKind::linear_attention && value.size() > (to.begins_apart ? 3 : 2);
  if (must_attend(to.kind) || has_more) {
    attention_fields(layer, to);
    const bool has_sizes = to.heads > 0 && to.kv_heads > 0 && to.head_dim > 0 && to.value_dim > 0;
    if (!failed() && reading_.known && !has_sizes) {
      reading_.fail(value, ErrorKind::bad_plan, "heads, kv_heads, head_dim and value_dim above 0", "the plan is known");
    }
  }
  layer.finish();
}

}  // namespace posenc::plan
