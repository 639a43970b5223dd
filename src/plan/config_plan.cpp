#include "plan/config_plan.h"

#include <fmt/compile.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/json.h"
#include "io/looks_like.h"
#include "plan/config_reader.h"
#include "plan/config_scope.h"
#include "plan/family.h"
#include "plan/text_stack.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;

// The text decoder's own object in a config of several stacks; else all stands at the top.
constexpr std::string_view kTextConfig = "text_config";
// Stacks that are not read yet.
constexpr std::string_view kOtherStacks[] = {"vision_config",
                                             "audio_config",
                                             "llm_config",
                                             "language_config",
                                             "decoder_config",
                                             "siglip_config",
                                             "acoustic_tokenizer_config",
                                             "semantic_tokenizer_config"};
// A file without a model_type and without architectures is a model's when it has one of these.
constexpr std::string_view kSigns[] = {"num_attention_heads", "num_hidden_layers", "hidden_size", "n_head", "n_layer"};

struct Names {
  std::string model_type;
  std::string architecture;  // the first of architectures
};

std::string read_text(ConfigReader& reader, const Place& place) {
  reader.mark_read(place);
  return std::string(reader.string(place).value_or(std::string_view{}));
}

Names read_names(ConfigReader& reader, const JsonValue& object) {
  Names names;
  const auto model_type = reader.look(object, "model_type");
  if (model_type && !model_type->value.is_null()) names.model_type = read_text(reader, *model_type);
  const auto architectures = reader.look(object, "architectures");
  if (!architectures || architectures->value.is_null()) return names;
  const auto list = reader.list(*architectures);
  if (!list || list->empty()) return names;
  reader.mark_read(*architectures);
  names.architecture = read_text(reader, Place{list->front(), list->front().pointer()});
  return names;
}

// An object that is a model's configuration, or an error.
void require_model(ConfigReader& reader, const Names& names) {
  if (reader.failed() || !names.model_type.empty() || !names.architecture.empty()) return;
  for (std::string_view sign : kSigns) {
    if (reader.look(reader.root(), sign)) return;
  }
  if (reader.failed()) return;
  FileError error = reader.root().error(ErrorKind::not_a_model_config, "a model's configuration",
                                        "it has no model_type, no architectures and no sizes of a model");
  error.got = "another object";
  reader.fail(std::move(error));
}

std::optional<Place> object_at(ConfigReader& reader, const JsonValue& parent, std::string_view key) {
  auto place = reader.look(parent, key);
  if (!place || place->value.kind() != JsonKind::object) return {};
  return place;
}

void warn_of_names(ConfigReader& reader, const Family& family, const Names& names, const std::string& where) {
  const auto warn = [&](std::string_view name, std::string_view key) {
    reader.warn("architecture-mismatch",
                fmt::format(FMT_COMPILE("{} is not of the {} family, whose rules were followed."), name, family.name),
                {fmt::format(FMT_COMPILE("{}/{}"), where, key)});
  };
  const bool of_family = std::ranges::find(family.model_types, names.model_type) != family.model_types.end();
  if (!names.model_type.empty() && !of_family) warn(names.model_type, "model_type");
  if (!names.architecture.empty() && !has_class(family, names.architecture)) warn(names.architecture, "architectures");
}

// Keys that the text decoder's object holds and the top repeats with another value.
void warn_of_repeated_keys(ConfigReader& reader, const JsonValue& text_config) {
  for (const JsonValue& member : text_config.items()) {
    const Place inner{member, member.pointer()};
    if (!reader.was_read(member)) continue;
    if (const auto outer = reader.look(reader.root(), member.key())) reader.settle(inner, *outer);
  }
}

bool warn_of_other_stacks(ConfigReader& reader) {
  bool all_read = true;
  for (std::string_view key : kOtherStacks) {
    const auto place = object_at(reader, reader.root(), key);
    if (!place) continue;
    reader.warn("stack-not-read", fmt::format(FMT_COMPILE("{} describes a stack that is not read."), place->from),
                {place->from});
    all_read = false;
  }
  return all_read;
}

void read_known_family(ConfigReader& reader, const Family& family, const Names& names, Plan& plan) {
  const auto text_config = object_at(reader, reader.root(), kTextConfig);
  const JsonValue object = text_config ? text_config->value : reader.root();
  warn_of_names(reader, family, names, {});
  const std::string model_type = names.model_type.empty() ? std::string(family.model_types.front()) : names.model_type;
  ConfigScope scope(reader, object, family, model_type);
  TextStack text = read_text_stack(scope, "/stacks/0");
  if (text_config) {
    warn_of_repeated_keys(reader, object);
    warn_of_names(reader, family, read_names(reader, object), object.pointer());
  }
  plan.known = warn_of_other_stacks(reader) && text.known;
  if (text.trained_length.value > 0) plan.trained_length = text.trained_length.value;
  plan.stacks.push_back(std::move(text.stack));
  plan.sources = std::move(text.sources);
}

void warn_unknown_family(ConfigReader& reader, const Plan& plan) {
  if (plan.family.empty()) {
    reader.warn("unknown-family", "The file has neither a model_type nor architectures; nothing was read.", {});
    return;
  }
  reader.warn("unknown-family",
              fmt::format(FMT_COMPILE("{} is not a family that is known here; nothing was read."), plan.family),
              {plan.model_type.empty() ? "/architectures" : "/model_type"});
}

Result<Plan> read_object(ConfigReader& reader, PlanSource source, const ReadOptions& options) {
  reader.enter(reader.root());
  const Names names = read_names(reader, reader.root());
  require_model(reader, names);
  const Family* family =
      names.model_type.empty() ? find_family_of_class(names.architecture) : find_family(names.model_type);
  Plan plan;
  plan.model_type = names.model_type;
  plan.source = std::move(source);
  plan.length = options.length;
  if (family != nullptr) {
    plan.family = family->name;
    read_known_family(reader, *family, names, plan);
  } else {
    plan.family = names.model_type.empty() ? names.architecture : names.model_type;
    warn_unknown_family(reader, plan);
  }
  if (reader.failed()) return *reader.error();
  plan.ignored_keys = reader.ignored_keys();
  plan.warnings = reader.take_warnings();
  return plan;
}

// The error for bytes that are no JSON because they are clearly something else; its name says more than a position.
std::optional<FileError> foreign_format(std::string_view text, const std::string& file) {
  const std::optional<std::string> format = io::looks_like(text);
  if (!format) return {};
  FileError error;
  error.kind = ErrorKind::wrong_format;
  error.file = file;
  error.expected = "a config.json";
  error.got = *format;
  return error;
}

}  // namespace

void require_length(const ReadOptions& options) {
  if (!options.length || *options.length >= 1) return;
  throw Error("read_plan", {"length", "be at least 1", fmt::format(FMT_COMPILE("{}"), *options.length)});
}

Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, source.name);
  if (!document) return foreign_format(text, source.name).value_or(document.error());
  const JsonValue root = document->root();
  if (root.kind() != JsonKind::object) return root.error(ErrorKind::type, "an object");
  ConfigReader reader(*document);
  return read_object(reader, std::move(source), options);
}

}  // namespace posenc::plan
