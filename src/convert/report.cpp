// What a conversion did, as text and as JSON.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/text/text_lines.h"
#include "posenc/convert.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::array<std::string_view, 6> kPartNames = {"queries",          "keys",       "latent_keys",
                                                        "queries_and_keys", "query_norm", "key_norm"};

constexpr int kConversionSchemaVersion = 1;

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return formatted("{} {}", count, count == 1 ? one : many);
}

// "model.layers.0.self_attn.q_proj.weight BF16 [64, 32]: queries, 4 heads, channels 0 to 15"
std::string tensor_line(const ConvertedTensor& tensor) {
  return formatted("{} {} [{}]: {}, {}, channels {} to {}", tensor.name, tensor.type, joined(tensor.shape, ", "),
                   name(tensor.part), counted(tensor.heads, "head", "heads"), tensor.first_channel,
                   tensor.first_channel + tensor.dim - 1);
}

}  // namespace

std::string_view name(ConvertedPart part) noexcept {
  const auto at = static_cast<std::size_t>(part);
  return at < kPartNames.size() ? kPartNames[at] : "unknown";
}

std::string describe(const Conversion& c) {
  plan::TextLines lines;
  lines.add(0, formatted("{} to {}: {}, {} as they are; {}, {} bytes", name(c.from), name(c.to),
                         counted(std::ssize(c.tensors), "tensor changes its rows", "tensors change their rows"),
                         c.copied, counted(std::ssize(c.files), "file", "files"), c.bytes));
  std::string_view file;
  for (const ConvertedTensor& tensor : c.tensors) {
    if (tensor.file != file) lines.add(0, tensor.file);
    file = tensor.file;
    lines.add(2, tensor_line(tensor));
  }
  for (const ConfigChange& change : c.config) {
    lines.add(0, formatted("config.json: {} is {}", change.key, change.value));
  }
  lines.add(0, c.mark.value.empty() ? formatted("mark: {} is taken out", c.mark.key)
                                    : formatted("mark: {} is {}", c.mark.key, c.mark.value));
  if (c.checked_heads > 0) {
    lines.add(0, formatted("scores as before in {}, within rounding",
                           counted(c.checked_heads, "pair of heads", "pairs of heads")));
  }
  if (c.found_bytes > 0) lines.add(0, formatted("{} bytes were there from an earlier run", c.found_bytes));
  for (const std::string& note : c.notes) lines.add(0, formatted("note: {}", note));
  return lines.take();
}

std::string to_json(const Conversion& c) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kConversionSchemaVersion);
  json.member("from", name(c.from));
  json.member("to", name(c.to));
  json.member("stack", c.stack);
  json.member("adapter", c.adapter);
  const auto texts = [&](std::string_view key, const std::vector<std::string>& list) {
    json.key(key);
    json.begin_array();
    for (const std::string& one : list) json.value(one);
    json.end_array();
  };
  texts("files", c.files);
  json.member("bytes", c.bytes);
  json.key("tensors");
  json.begin_array();
  for (const ConvertedTensor& tensor : c.tensors) {
    json.begin_object(io::JsonLayout::line);
    json.member("name", tensor.name);
    json.member("file", tensor.file);
    json.member("type", tensor.type);
    json.key("shape");
    json.numbers(std::span<const std::int64_t>(tensor.shape));
    json.member("part", name(tensor.part));
    json.member("layer", tensor.layer);
    json.member("heads", tensor.heads);
    json.member("first_channel", tensor.first_channel);
    json.member("dim", tensor.dim);
    json.end_object();
  }
  json.end_array();
  json.member("copied", c.copied);
  json.key("config");
  json.begin_array();
  for (const ConfigChange& change : c.config) {
    json.begin_object(io::JsonLayout::line);
    json.member("key", change.key);
    json.member("value", change.value);
    json.end_object();
  }
  json.end_array();
  json.key("mark");
  json.begin_object(io::JsonLayout::line);
  json.member("key", c.mark.key);
  json.key("value");
  if (c.mark.value.empty()) {
    json.null();
  } else {
    json.value(c.mark.value);
  }
  json.end_object();
  texts("beside", c.beside);
  texts("notes", c.notes);
  json.member("checked_heads", c.checked_heads);
  json.member("score_difference", c.score_difference);
  json.member("found_bytes", c.found_bytes);
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
