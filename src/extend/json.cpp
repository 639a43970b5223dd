// A study as JSON (docs/extend.md).
#include <cstdint>
#include <span>
#include <string>

#include "io/json/json_writer.h"
#include "posenc/extend.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kSchemaVersion = 1;

void write_texts(io::JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_text(io::JsonWriter& json, std::string_view key, const std::string& text) {
  if (text.empty()) {
    json.null_member(key);
  } else {
    json.member(key, text);
  }
}

void write(io::JsonWriter& json, const Extension& way) {
  json.begin_object();
  json.member("name", way.name);
  json.member("about", way.about);
  write_texts(json, "settings", way.settings);
  write_text(json, "refused", way.refused);
  if (way.refused.empty()) {
    json.member("unseen", way.unseen);
    json.key("unseen_pairs");
    json.numbers(std::span<const std::int32_t>(way.unseen_pairs));
    json.member("kept", way.kept);
    json.member("fastest_slower", way.fastest_slower);
    json.member("slowest_slower", way.slowest_slower);
    json.member("attention_factor", way.attention_factor);
    json.member("entropy", way.entropy);
    if (way.entropy_of_given) json.member("entropy_of_given", *way.entropy_of_given);
  }
  json.end_object();
}

}  // namespace

std::string to_json(const ExtensionStudy& study) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kSchemaVersion);
  json.member("model", study.model);
  json.member("stack", study.stack);
  json.member("layer", study.layer);
  json.member("from", study.from);
  json.member("to", study.to);
  json.member("pairs", study.pairs);
  json.member("base", study.base);
  json.member("entropy_before", study.entropy_before);
  if (study.entropy_of_given_before) json.member("entropy_of_given_before", *study.entropy_of_given_before);
  json.member("cache_bytes", study.cache_bytes);
  json.key("block");
  json.begin_array();
  for (const ExplainedKey& key : study.block) {
    json.begin_object(io::JsonLayout::line);
    json.member("key", key.key);
    json.member("value", key.value);
    json.member("meaning", key.meaning);
    write_text(json, "problem", key.problem);
    json.end_object();
  }
  json.end_array();
  json.key("ways");
  json.begin_array();
  for (const Extension& way : study.ways) write(json, way);
  json.end_array();
  json.member("recommended", study.recommended);
  write_texts(json, "reasons", study.reasons);
  write_texts(json, "open_questions", study.open_questions);
  json.key("patches");
  json.begin_array();
  for (const OverridePatch& patch : study.patches) {
    json.begin_object();
    json.member("form", name(patch.form));
    write_text(json, "text", patch.text);
    write_texts(json, "unsaid", patch.unsaid);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
