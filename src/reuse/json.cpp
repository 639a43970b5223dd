// A study of a cache as JSON (docs/cache.schema.json).
#include <string>

#include "io/json/json_writer.h"
#include "posenc/cache/study_cache.h"

namespace posenc::inline v0_2 {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kCacheSchemaVersion = 1;

template <typename T>
void write_if(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
  json.key(key);
  value ? json.value(*value) : json.null();
}

void write_numbers(JsonWriter& json, std::string_view key, const std::vector<std::int64_t>& numbers) {
  json.key(key);
  json.numbers(std::span<const std::int64_t>(numbers));
}

void write_verdict(JsonWriter& json, const ReuseVerdict& verdict) {
  json.member("reuse", name(verdict.reuse));
  write_if(json, "reach", verdict.reach);
  json.member("period", verdict.period);
  write_if(json, "exact_below", verdict.exact_below);
  json.key("reasons");
  json.begin_array();
  for (const ReuseReason& reason : verdict.reasons) {
    json.begin_object(JsonLayout::line);
    json.member("fact", name(reason.fact));
    json.member("effect", name(reason.effect));
    json.member("text", reason.text);
    json.end_object();
  }
  json.end_array();
}

void write_bytes(JsonWriter& json, std::string_view key, const std::vector<KvFormatBytes>& bytes) {
  json.key(key);
  json.begin_object(JsonLayout::line);
  for (const KvFormatBytes& one : bytes) write_if(json, name(one.format), one.bytes);
  json.end_object();
}

void write_group(JsonWriter& json, const CacheGroup& group) {
  json.begin_object();
  write_numbers(json, "layers", group.layers.layers);
  write_numbers(json, "blocks", group.layers.blocks);
  json.member("kind", name(group.kind));
  json.member("keys", group.keys);
  json.member("values", group.values);
  write_if(json, "kept", group.kept);
  write_if(json, "owner", group.owner);
  json.member("expanded", group.expanded);
  write_bytes(json, "bytes", group.bytes);
  json.key("verdicts");
  json.begin_array();
  for (const OperationVerdict& one : group.verdicts) {
    json.begin_object();
    json.member("operation", name(one.operation));
    json.member("keys", name(one.keys));
    write_verdict(json, one.verdict);
    json.end_object();
  }
  json.end_array();
  json.key("shifts");
  json.begin_array();
  for (const SimulatedShifts& one : group.shifts) {
    json.begin_object(JsonLayout::line);
    json.member("format", name(one.format));
    json.member("unrotated", one.unrotated);
    json.key("rotated");
    json.numbers(std::span<const double>(one.rotated));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

std::string to_json(const ReuseVerdict& verdict) {
  JsonWriter json;
  json.begin_object();
  write_verdict(json, verdict);
  json.end_object();
  return json.take();
}

std::string to_json(const CacheStudy& study) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", kCacheSchemaVersion);
  json.member("model", study.model);
  json.member("stack", study.stack);
  write_bytes(json, "bytes", study.bytes);
  write_bytes(json, "encoder_bytes", study.encoder_bytes);
  json.member("shift_by", study.shift_by);
  write_numbers(json, "shifts", study.shifts);
  json.key("groups");
  json.begin_array();
  for (const CacheGroup& group : study.groups) write_group(json, group);
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
