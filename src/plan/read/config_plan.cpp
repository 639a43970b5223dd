#include "plan/read/config_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "io/files/looks_like.h"
#include "io/json/json.h"
#include "plan/assemble/plan_size.h"
#include "plan/json/plan_json.h"
#include "plan/keys/key_notes.h"
#include "plan/read/config_stacks.h"
#include "plan/read/general_rules.h"
#include "plan/read/native_schemas.h"
#include "plan/scope/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {
namespace {

// A model's file has some hundred keys; whatever has more is not searched to its end.
constexpr std::size_t kSearched = 1024;

// A warning for each of the `unread` pointers whose last part looks like a position key's name.
void warn_of_misspelled_keys(ConfigReader& reader, std::span<const std::string> unread) {
  for (const std::string& pointer : unread.first(std::min(unread.size(), kSearched))) {
    const std::string_view name = std::string_view(pointer).substr(pointer.rfind('/') + 1);
    const std::string_view meant = misspelled_key(name);
    if (meant.empty()) continue;
    reader.warn("unknown-key", formatted("{} is not a key that is known here; {} is.", pointer, meant), {pointer});
  }
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

Result<Plan> read_object(ConfigReader& reader, PlanSource source, const ReadOptions& options) {
  reader.enter(reader.root());
  const std::optional<NativeSchema> native = find_native_schema(reader);
  const ClassNames names = native ? ClassNames{.model_type = std::string(native->model_type), .architecture = {}}
                                  : read_class_names(reader, reader.root());
  require_model(reader, names);
  Plan plan;
  if (!native) plan.model_type = names.model_type;
  plan.source = std::move(source);
  if (native) plan.source.kind = native->kind;
  plan.length = options.length;
  read_stacks(reader, names, plan);
  if (reader.failed()) return *reader.error();
  if (const std::optional<FileError> too_large = beyond_size(plan)) return *too_large;
  plan.absent_keys = reader.absent_keys();
  plan.ignored_keys = reader.ignored_keys();
  warn_of_misspelled_keys(reader, plan.ignored_keys);
  warn_of_default_sizes(reader, plan.sources);
  plan.warnings = reader.take_warnings();
  return plan;
}

FileError not_a_config(const std::string& file, std::string got) {
  FileError error;
  error.kind = ErrorKind::wrong_format;
  error.file = file;
  error.expected = "a config.json";
  error.got = std::move(got);
  return error;
}

// What is wrong with a rotation for sequences of that length.
std::optional<FileError> beyond_length(const Plan& plan, std::int64_t length, std::string_view file) {
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& one : layer.rotate) {
        const std::optional<Problem> problem = check(rope(one), length);
        if (!problem) continue;
        FileError error;
        error.kind = ErrorKind::out_of_range;
        error.file = file;
        error.path = formatted("/stacks: {}, layer {}", stack.name, layer.index);
        error.expected = formatted("a rotation for {} tokens, whose {} must {}", length, problem->field, problem->must);
        error.got = problem->is;
        return error;
      }
    }
  }
  return {};
}

// The plan as it was saved, but for the length that is asked for now.
Result<Plan> read_saved(const io::JsonDocument& document, std::string_view name, const ReadOptions& options) {
  Result<Plan> plan = saved_plan(document, name);
  if (!plan || !options.length) return plan;
  if (std::optional<FileError> error = beyond_length(*plan, *options.length, name)) return *std::move(error);
  plan->length = options.length;
  return plan;
}

}  // namespace

std::optional<FileError> foreign_format(std::string_view bytes, const std::string& file) {
  if (io::is_llama2c(bytes))
    return not_a_config(file, "a llama2.c checkpoint: sizes and weights, and no config to read");
  const std::optional<std::string> format = io::looks_like(bytes);
  if (!format) return {};
  return not_a_config(file, *format);
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
