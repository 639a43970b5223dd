// Writes safetensors: the reference's order (types of the widest alignment first, then names), its compact JSON, its
// padding of the header to 8 bytes, so that the same tensors give the same bytes as there.

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/utf8.h"
#include "io/json/json_writer.h"
#include "io/tensors/safetensors.h"
#include "io/tensors/write_tensor.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kWhere = "write_safetensors";

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.length == 0) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

void check_text(std::string_view field, std::string_view text) {
  if (!is_utf8(text)) throw Error(kWhere, {std::string(field), "be UTF-8", std::string(text)});
}

// By alignment, of the reference's list.
const io::SafetensorsType& type_of(DType dtype) {
  const auto same = [&](const io::SafetensorsType& type) { return dtype_of(type.type) == dtype; };
  return *std::ranges::find_if(io::kSafetensorsTypes, same);
}

std::vector<NamedTensor> in_order(std::span<const NamedTensor> tensors) {
  std::vector<NamedTensor> sorted(tensors.begin(), tensors.end());
  std::ranges::sort(sorted, [](const NamedTensor& a, const NamedTensor& b) {
    const auto* const type_a = &type_of(a.tensor.dtype);
    const auto* const type_b = &type_of(b.tensor.dtype);
    return type_a == type_b ? a.name < b.name : type_a > type_b;
  });
  return sorted;
}

void check_names(std::span<const NamedTensor> tensors) {
  std::vector<std::string_view> names;
  for (const NamedTensor& named : tensors) {
    check_text("name", named.name);
    if (named.name.empty()) throw Error(kWhere, {"name", "say something", "empty"});
    if (named.name == io::kSafetensorsMetadata) throw Error(kWhere, {"name", "be a tensor's", "__metadata__"});
    names.push_back(named.name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw Error(kWhere, {"name", "stand once", std::string(*twice) + ", twice"});
}

// Offsets are those of the data without gaps, in the order given; metadata first and in the order of its keys.
std::string header_of(std::span<const NamedTensor> tensors, const std::map<std::string, std::string>& metadata) {
  io::JsonWriter json(io::JsonLayout::compact);
  json.begin_object();
  if (!metadata.empty()) {
    json.key(io::kSafetensorsMetadata);
    json.begin_object();
    for (const auto& [key, value] : metadata) {
      check_text("metadata", key);
      check_text("metadata", value);
      json.member(key, value);
    }
    json.end_object();
  }
  std::uint64_t offset = 0;
  for (const NamedTensor& named : tensors) {
    const auto bytes = static_cast<std::uint64_t>(io::checked_bytes(kWhere, named.tensor));
    const std::optional<std::uint64_t> end = checked_add(offset, bytes);
    if (!end || *end > INT64_MAX) throw Error(kWhere, {"tensors", "have less than 2^63 bytes", "larger"});
    json.key(named.name);
    json.begin_object();
    json.member("dtype", type_of(named.tensor.dtype).name);
    json.key("shape");
    json.numbers(std::span(named.tensor.shape).first(static_cast<std::size_t>(named.tensor.rank)));
    json.key("data_offsets");
    json.begin_array();
    json.value(offset);
    json.value(*end);
    json.end_array();
    json.end_object();
    offset = *end;
  }
  json.end_object();
  return json.take();
}

}  // namespace

Result<std::int64_t> write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                                       const std::map<std::string, std::string>& metadata,
                                       const WriteOptions& options) {
  check_names(tensors);
  const std::vector<NamedTensor> sorted = in_order(tensors);
  std::string header = header_of(sorted, metadata);
  header.resize((header.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  io::OutputFile out(path, options);
  out.write(length);
  out.write(header);
  for (const NamedTensor& named : sorted) io::write_elements(out, named.tensor);
  return out.publish();
}

}  // namespace posenc::inline v0_2
