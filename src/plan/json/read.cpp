// JSON -> Plan (docs/plan.schema.json): the document, and the rotations with what is computed for them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "io/json/json.h"
#include "plan/json/fields.h"
#include "plan/json/object.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "posenc/plan.h"

namespace posenc::plan {
namespace {

// Relative. A document may be written by another program, whose pow() and log() round otherwise (elementary.h): a few
// units of 2^-53, some thousand of them where a rule takes a difference. Frequencies in float32, which are another
// thing, are 1e-8 off.
constexpr double kSameNumber = 1e-12;

bool same_number(double given, double computed) {
  return given == computed || std::abs(given - computed) <= kSameNumber * std::abs(computed);
}

void require_number(Reading& reading, const io::JsonValue& value, double given, double computed) {
  if (same_number(given, computed)) return;
  FileError error = value.error(ErrorKind::bad_plan, formatted("{}", computed), "computed from the rotation itself");
  error.got = formatted("{}", given);
  reading.fail(std::move(error));
}

void require_frequencies(Reading& reading, const io::JsonValue& factor, double given_factor, const io::JsonValue& list,
                         const std::vector<double>& given, const Rope& rope) {
  if (static_cast<std::int64_t>(given.size()) != rope.pairs()) {
    FileError error = list.error(ErrorKind::length_mismatch, formatted("{} numbers, dim / 2", rope.pairs()));
    error.got = formatted("{}", given.size());
    return reading.fail(std::move(error));
  }
  const Frequencies computed = frequencies(rope, reading.length);
  require_number(reading, factor, given_factor, computed.attention_factor);
  const std::vector<io::JsonValue> elements = list.items();
  for (std::size_t p = 0; p < given.size(); ++p) {
    require_number(reading, elements[p], given[p], computed.inv_freq[p]);
  }
}

// The value that Problem::field names: "base", "factor" (of the rule), "axes.of_pair[3]", "short_factor[2]".
io::JsonValue place_of(const io::JsonValue& rotate, std::string_view field) {
  const std::size_t bracket = std::min(field.find('['), field.size());
  std::string_view key = field.substr(0, bracket);
  if (key == "axes.names") key = "axes";
  if (key == "axes.of_pair") key = "axis_of_pair";

  const auto member = [&](const io::JsonValue& object) {
    const auto found = object.find(key);
    return found ? *found : std::nullopt;
  };
  const auto scaling = rotate.find("scaling");
  std::optional<io::JsonValue> value;
  if (scaling && *scaling) value = member(**scaling);
  if (!value) value = member(rotate);
  if (!value) return rotate;

  std::int64_t index = 0;
  for (const char c : field.substr(std::min(bracket + 1, field.size()))) {
    if (c >= '0' && c <= '9') index = std::min(10 * index + (c - '0'), value->size());
  }
  const bool has_element = bracket < field.size() && index < value->size();
  return has_element ? value->items()[static_cast<std::size_t>(index)] : *value;
}

// An error at that value: "expected factor to be a finite number above 0, got -2".
FileError broken_rule(const io::JsonValue& rotate, const Problem& problem) {
  std::string must = problem.must;
  if (must.ends_with(',')) must.pop_back();
  FileError error =
      place_of(rotate, problem.field).error(ErrorKind::bad_plan, formatted("{} to {}", problem.field, must));
  error.got = problem.is;
  return error;
}

}  // namespace

void ObjectReader::read(const io::JsonValue& value, std::vector<Rotate>& to, Range) {
  for (const io::JsonValue& element : elements(value)) {
    ObjectReader rotate(element, reading_);
    if (std::optional<Rotate> got = rotate.read_rotate()) to.push_back(*std::move(got));
    if (failed()) return;
  }
}

std::optional<Rotate> ObjectReader::read_rotate() {
  using Scheme = decltype(Rotate::scheme);
  RotateRole role{};
  std::int64_t heads = 0;
  Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
  double scale_base = 0.0;
  double attention_factor = 0.0;
  std::vector<double> inv_freq;  // [dim/2]

  field("role", role);
  const auto kind = required("kind");
  const auto scheme = kind ? read_name(*kind, kKindNames<Scheme>) : std::nullopt;
  const bool is_xpos = scheme && kKindNames<Scheme>[*scheme] == "xpos";
  field("heads", heads, at_least(0));
  field("head_dim", rope.head_dim);
  field("pairing", rope.pairing);
  field("first_channel", rope.first_channel);
  field("dim", rope.dim);
  field("base", rope.base);
  field("scaling", rope.scaling);
  field("attention_factor", attention_factor);
  rope.axes.names.clear();
  field("axes", rope.axes.names, at_most_bytes(64));
  const auto of_pair = required("axis_of_pair");
  if (of_pair && !of_pair->is_null()) {
    read(*of_pair, rope.axes.of_pair, at_least(0));
    if (!failed() && rope.axes.of_pair.empty()) {
      reading_.fail(*of_pair, ErrorKind::length_mismatch, "null or one axis for each pair");
    }
  }
  if (const auto given = member("axis_frequencies")) {
    read(*given, rope.axis_frequencies, {});
    if (!failed() && rope.axis_frequencies == AxisFrequencies::shared) {
      reading_.fail(*given, ErrorKind::out_of_range, "per_axis or strided", "shared is not written");
    }
  }
  unless("rotation_direction", rope.rotation_direction, RotationDirection::counterclockwise);
  std::int64_t offset = 0;
  if (const auto given = member("offset")) {
    read(*given, offset, {});
    if (!failed() && offset == 0) reading_.fail(*given, ErrorKind::out_of_range, "an integer other than 0");
  }
  if (is_xpos) field("scale_base", scale_base, at_least(1));  // math::check_decay
  field("inv_freq", inv_freq);
  finish();
  if (failed()) return std::nullopt;

  if (const std::optional<Problem> problem = check(rope, reading_.length)) {
    reading_.fail(broken_rule(object_, *problem));
    return std::nullopt;
  }
  require_frequencies(reading_, *member("attention_factor"), attention_factor, *member("inv_freq"), inv_freq, rope);
  if (failed()) return std::nullopt;
  if (is_xpos) return Rotate{role, heads, XPos{std::move(rope), scale_base}, offset};
  return Rotate{role, heads, std::move(rope), offset};
}

namespace {

void require_version(ObjectReader& document) {
  std::int64_t version = 0;
  document.field("schema_version", version);
  document.reading().version = version;
  if (document.failed() || version == kSchemaVersion || version == 1) return;
  const auto value = document.member("schema_version");
  document.reading().fail(*value, ErrorKind::bad_plan, formatted("1 or {}", kSchemaVersion),
                          "another version of posenc wrote this plan");
}

FileError duplicate_key(const io::JsonDuplicate& duplicate, std::string_view name) {
  return FileError{.kind = ErrorKind::json_duplicate_key,
                   .file = std::string(name),
                   .line = duplicate.second_line,
                   .path = duplicate.pointer,
                   .expected = "each key once",
                   .got = formatted("it on lines {} and {}", duplicate.first_line, duplicate.second_line)};
}

}  // namespace

bool is_saved_plan(const io::JsonValue& root) {
  const auto has = [&](std::string_view key) {
    const auto found = root.find(key);
    return !found || found->has_value();  // twice is there too
  };
  return root.kind() == io::JsonKind::object && has("schema_version") && has("stacks");
}

Result<Plan> saved_plan(const io::JsonDocument& document, std::string_view name) {
  if (!document.duplicates().empty()) return duplicate_key(document.duplicates().front(), name);
  Reading reading;
  ObjectReader root(document.root(), reading);
  require_version(root);
  // What the layers' readers need; fields() reads both again, in place.
  root.field("known", reading.known);
  root.nullable("length", reading.length, at_least(1));
  Plan plan;
  fields(root, plan);
  root.finish();
  if (reading.error) return *std::move(reading.error);
  return plan;
}

}  // namespace posenc::plan

namespace posenc::inline v0_2 {
Result<Plan> plan_from_json(std::string_view json, std::string_view name) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(json, name);
  if (!document) return document.error();
  return plan::saved_plan(*document, name);
}

}  // namespace posenc::inline v0_2
