// From the text of a config.json, params.json or saved plan to a Plan, with its warnings and the keys that nobody read.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "io/files/looks_like.h"
#include "io/json/json.h"
#include "plan/assemble/plan_numbers.h"
#include "plan/assemble/plan_of.h"
#include "plan/families/class_defaults.h"
#include "plan/json/plan_json.h"
#include "plan/keys/key_notes.h"
#include "plan/read/config.h"
#include "plan/rope/keys.h"

namespace posenc::plan {
namespace {

// A model's file has some hundred keys; whatever has more is not searched to its end.
constexpr std::size_t kSearched = 1024;

// Of an object of the file that says its type: what that type's class reads; null where neither is known.
const ClassDefaults* class_of_owner(const io::JsonValue& root, std::string_view pointer) {
  std::optional<io::JsonValue> owner = root;
  std::string_view rest = pointer.substr(1, pointer.rfind('/'));  // "text_config/": empty at the top
  while (owner && !rest.empty()) {
    const std::size_t end = rest.find('/');
    const auto member = owner->find(rest.substr(0, end));
    owner = member ? *member : std::nullopt;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (!owner) return nullptr;
  const auto type = owner->find("model_type");
  return type && *type ? find_class_defaults((*type)->text()) : nullptr;
}

// A warning for each of the `unread` pointers whose last part looks like the name of a position key that the class
// reads. They stand before the others, which may follow from them; that the key which was meant is missing is said with
// them, once.
std::vector<Warning> with_misspelled_keys(std::vector<Warning> others, const io::JsonValue& root,
                                          std::span<const std::string> unread) {
  std::vector<Warning> out;
  for (const std::string& pointer : unread.first(std::min(unread.size(), kSearched))) {
    const std::string_view name = std::string_view(pointer).substr(pointer.rfind('/') + 1);
    const ClassDefaults* row = misspelled_key(name).empty() ? nullptr : class_of_owner(root, pointer);
    const std::string_view meant =
        misspelled_key(name, [&](std::string_view known) { return row == nullptr || class_takes(*row, known); });
    if (meant.empty()) continue;
    std::string message = formatted("{} is not a key that is known here; {} is.", pointer, meant);
    const auto missing = std::ranges::find_if(
        others, [&](const Warning& w) { return w.code == kMissingOriginalLength && w.message.starts_with(meant); });
    if (missing != others.end()) {
      message += " " + missing->message;
      others.erase(missing);
    }
    out.push_back({.code = "unknown-key", .message = std::move(message), .keys = {pointer}});
  }
  std::ranges::move(others, std::back_inserter(out));
  return out;
}

// "/stacks/0/layers" counts the layers; "/stacks/0/layers/0-31/heads" is a size of them, "/.../rotate/0/heads" is not.
bool is_layers(std::string_view where) { return where.ends_with("/layers"); }

constexpr std::string_view kDefaultPrefix = "default: ";

bool is_size(std::string_view where) {
  constexpr auto kSlashes = 5;
  if (is_layers(where)) return true;
  return (where.ends_with("/heads") || where.ends_with("/head_dim")) && std::ranges::count(where, '/') == kSlashes;
}

// A file that gives none of the sizes is a sketch of a model, or its name alone.
void warn_of_default_sizes(ConfigReader& reader, std::span<const ValueSource> sources) {
  const auto layers = std::ranges::find_if(sources, is_layers, &ValueSource::where);
  const bool any_given = std::ranges::any_of(
      sources, [](const ValueSource& source) { return is_size(source.where) && source.from.starts_with('/'); });
  if (any_given || layers == sources.end() || !layers->from.starts_with(kDefaultPrefix)) return;
  reader.warn("default-sizes",
              formatted("The file gives no layers, no heads and no head_dim: all are defaults of the class ({}).",
                        layers->from.substr(kDefaultPrefix.size())),
              {});
}

using io::JsonKind;
using io::JsonValue;

void fail_as_no_model(ConfigReader& reader, std::string got, std::string detail) {
  if (reader.failed()) return;
  FileError error = reader.root().error(ErrorKind::not_a_model_config, "a model's configuration", std::move(detail));
  error.got = std::move(got);
  reader.fail(std::move(error));
}

// An object that is a model's configuration, or an error that says what it is.
void require_model(ConfigReader& reader, const ClassNames& names) {
  if (reader.failed() || has_sizes(reader, reader.root())) return;
  if (const std::string_view foreign = foreign_schema(reader); !foreign.empty()) {
    return fail_as_no_model(reader, std::string(foreign), {});
  }
  if (!names.model_type.empty() || !names.architecture.empty()) return;
  if (const std::string inside = config_inside(reader); !inside.empty()) {
    return fail_as_no_model(reader, "an object that holds configs", formatted("{} is one", inside));
  }
  fail_as_no_model(reader, "another object",
                   "it has no model_type, no architectures and not the layers, heads and width of a model");
}

// The error with the line of the value that its path leads to, where it leads to one.
FileError placed(const JsonValue& root, const FileError& error) {
  std::optional<JsonValue> value = root;
  std::string_view rest = error.path;
  while (value && rest.starts_with('/')) {
    rest.remove_prefix(1);
    const std::string_view key = rest.substr(0, rest.find('/'));
    rest.remove_prefix(key.size());
    const auto member = value->find(key);
    value = member ? *member : std::nullopt;
  }
  if (!value || error.path.empty() || !rest.empty()) return error;
  FileError at = value->error(error.kind, error.expected, error.detail);
  if (at.got != error.got) at.detail = formatted("{}: {}", error.detail, error.got);
  return at;
}

Result<Plan> read_object(ConfigReader& reader, PlanSource source, const ReadOptions& options) {
  reader.enter(reader.root());
  const std::optional<NativeSchema> native = find_native_schema(reader);
  const ClassNames names = native ? ClassNames{.model_type = std::string(native->model_type), .architecture = {}}
                                  : read_class_names(reader, reader.root());
  require_model(reader, names);
  Plan plan;
  const Result<std::optional<JsonValue>> whole = reader.root().find("model_type");
  if (!native && whole && *whole) plan.model_type = (*whole)->text();
  plan.source = std::move(source);
  if (native) plan.source.kind = native->kind;
  plan.length = options.length;
  read_stacks(reader, names, plan);
  if (reader.failed()) return *reader.error();
  if (const std::optional<FileError> too_large = beyond_size(plan)) return *too_large;
  if (const std::optional<FileError> unusable = unusable_number(plan)) return placed(reader.root(), *unusable);
  plan.absent_keys = reader.absent_keys();
  plan.ignored_keys = reader.ignored_keys();
  warn_of_default_sizes(reader, plan.sources);
  plan.warnings = with_misspelled_keys(reader.take_warnings(), reader.root(), plan.ignored_keys);
  return plan;
}

// The plan as it was saved, but for the length that is asked for now.
Result<Plan> read_saved(const io::JsonDocument& document, std::string_view name, const ReadOptions& options) {
  Result<Plan> plan = saved_plan(document, name);
  if (!plan || !options.length) return plan;
  plan->length = options.length;
  if (std::optional<FileError> error = unusable_number(*plan)) {
    error->file = name;
    return *std::move(error);
  }
  return plan;
}

}  // namespace

FileError wrong_format(const std::string& file, std::string expected, std::string got) {
  return FileError{
      .kind = ErrorKind::wrong_format, .file = file, .expected = std::move(expected), .got = std::move(got)};
}

std::optional<FileError> foreign_format(std::string_view bytes, const std::string& file) {
  const std::optional<std::string> format =
      io::is_llama2c(bytes) ? "a llama2.c checkpoint: sizes and weights, and no config to read" : io::looks_like(bytes);
  if (!format) return {};
  return wrong_format(file, "a config.json", *format);
}

void require_length(const ReadOptions& options) {
  if (!options.length || *options.length >= 1) return;
  throw Error("read_plan", {"length", "be at least 1", formatted("{}", *options.length)});
}

Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, source.name);
  if (!document) return foreign_format(text, source.name).value_or(document.error());
  const JsonValue root = document->root();
  if (root.kind() != JsonKind::object) return root.error(ErrorKind::type, "an object");
  if (is_saved_plan(root)) return read_saved(*document, source.name, options);
  ConfigReader reader(*document);
  return read_object(reader, std::move(source), options);
}

}  // namespace posenc::plan
