// model.safetensors.index.json, as transformers' save_pretrained writes it: weight_map names the shard of each tensor.
// Shards are opened beside the index and nowhere else, and each name must be in its shard.
#include "io/tensors/tensor_shards.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "io/files/text_file.h"
#include "io/json/json.h"

namespace posenc::io {
namespace {

using namespace std::string_view_literals;

// No separator of any system, no NUL, no step up: joined to the index's folder it stays in that folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\\0"sv) == std::string_view::npos;
}

Result<JsonValue> weight_map_of(const JsonDocument& document) {
  const Result<std::optional<JsonValue>> map = document.root().find("weight_map");
  if (!map) return map.error();
  if (!*map) return document.root().error(ErrorKind::missing_key, "an object with the key weight_map");
  const JsonValue& value = **map;
  if (value.kind() != JsonKind::object) return value.error(ErrorKind::type, "an object of file names");
  if (value.size() == 0) return value.error(ErrorKind::empty, "a tensor at least");
  if (static_cast<std::uint64_t>(value.size()) > kMaxTensors) {
    return value.error(ErrorKind::count_too_large, formatted("at most {} tensors", kMaxTensors));
  }
  return value;
}

// The names of the files, each once.
Result<std::set<std::string>> shards_of(const JsonValue& weight_map) {
  std::set<std::string> out;
  for (const JsonValue& item : weight_map.items()) {
    if (const auto once = weight_map.find(item.key()); !once) return once.error();
    const Result<std::string_view> name = item.as_string();
    if (!name) return name.error();
    if (!is_plain_name(*name)) return item.error(ErrorKind::bad_path, "the name of a file beside the index");
    out.emplace(*name);
    if (out.size() > kMaxShards) {
      return item.error(ErrorKind::count_too_large, formatted("at most {} files", kMaxShards));
    }
  }
  return out;
}

// Adds what the index looks for in this shard.
std::optional<FileError> add_shard(OpenTensorFile& to, const JsonValue& weight_map, const std::string& name,
                                   RegularFile file) {
  const ByteSource& source = to.sources.emplace_back(std::move(file));
  ByteCursor cursor = source.cursor();
  Result<TensorList> list = list_safetensors(cursor);
  if (!list) return list.error();
  for (TensorEntry& entry : list->tensors) {
    const Result<std::optional<JsonValue>> at = weight_map.find(entry.name);
    if (!at) return at.error();
    if (!*at || (*at)->text() != name) {
      to.list.warn("not-in-index", entry.name, "A file has a tensor that the index does not look for there.");
      continue;
    }
    entry.file = static_cast<std::int64_t>(to.sources.size()) - 1;
    to.list.tensors.push_back(std::move(entry));
  }
  to.list.metadata.merge(list->metadata);
  for (const Warning& warning : list->warnings) {
    to.list.warn(warning.code, warning.keys.empty() ? "" : warning.keys.front(), warning.message);
  }
  return {};
}

// The first name of the index that no shard has given.
FileError missing_tensor(const OpenTensorFile& file, const JsonValue& weight_map) {
  std::set<std::string_view> found;
  for (const TensorEntry& entry : file.list.tensors) found.insert(entry.name);
  const std::vector<JsonValue> items = weight_map.items();
  const auto missing = std::ranges::find_if(items, [&](const JsonValue& item) { return !found.contains(item.key()); });
  return missing->error(ErrorKind::missing_key, "a file that has the tensor");
}

}  // namespace

bool is_shard_index(const std::filesystem::path& path) { return path.native().ends_with(".index.json"); }

// add_shard() takes a tensor only if the index maps its name to this very shard, and a file has each name once: as many
// tensors as names means that every name was found.
Result<std::unique_ptr<OpenTensorFile>> open_shards(const std::filesystem::path& index) {
  const Result<std::string> text = read_text_file(index, kMaxJsonBytes);
  if (!text) return text.error();
  const Result<JsonDocument> document = JsonDocument::parse(*text, index.native());
  if (!document) return document.error();
  const Result<JsonValue> weight_map = weight_map_of(*document);
  if (!weight_map) return weight_map.error();
  const Result<std::set<std::string>> shards = shards_of(*weight_map);
  if (!shards) return shards.error();
  auto out = std::make_unique<OpenTensorFile>(index.native(), TensorFormat::safetensors);
  out->sources.reserve(shards->size());
  for (const std::string& name : *shards) {
    Result<RegularFile> file = RegularFile::open(index.parent_path() / name);
    if (!file) return file.error();
    if (auto error = add_shard(*out, *weight_map, name, std::move(*file))) return *std::move(error);
  }
  if (std::ssize(out->list.tensors) != weight_map->size()) return missing_tensor(*out, *weight_map);
  return out;
}

}  // namespace posenc::io
