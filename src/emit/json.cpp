// EmittedCode -> JSON (posenc/emit.h).
#include "io/json/json_writer.h"
#include "posenc/emit.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kEmitSchemaVersion = 1;

void write_texts(io::JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

}  // namespace

std::string to_json(const EmittedCode& code) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kEmitSchemaVersion);
  json.member("as", name(code.as));
  json.member("file_name", code.file_name);
  json.key("functions");
  json.begin_array();
  for (const EmittedFunction& function : code.functions) {
    json.begin_object();
    json.member("name", function.name);
    write_texts(json, "parameters", function.parameters);
    json.end_object();
  }
  json.end_array();
  write_texts(json, "beside", code.beside);
  json.member("text", code.text);
  if (code.port.empty()) {
    json.null_member("port");
  } else {
    json.member("port", code.port);
  }
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
