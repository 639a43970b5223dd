// .npy (version 1.0) and safetensors as bytes: f64, and i64 of what is whole. docs/tensor-files.md has the formats.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::size_t kNpyAlignment = 64;         // of the data, from the start of the file
constexpr std::size_t kSafetensorsAlignment = 8;  // likewise
constexpr std::size_t kElement = 8;               // bytes

void append_little_endian(std::string& to, std::uint64_t bits, std::size_t bytes) {
  for (std::size_t byte = 0; byte < bytes; ++byte) to += static_cast<char>((bits >> (8 * byte)) & 0xFFU);
}

void append_elements(std::string& to, const VectorTensor& tensor) {
  for (const double x : tensor.values) {
    const auto bits =
        tensor.is_whole ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) : std::bit_cast<std::uint64_t>(x);
    append_little_endian(to, bits, kElement);
  }
}

std::string npy_bytes(const VectorTensor& tensor) {
  const std::string shape = joined(tensor.shape, ", ") + (tensor.shape.size() == 1 ? "," : "");
  std::string header =
      formatted("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", tensor.is_whole ? "<i8" : "<f8", shape);
  constexpr std::size_t kBefore = 10;  // magic, version, length of the header
  header.append(kNpyAlignment - (kBefore + header.size() + 1) % kNpyAlignment, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  append_little_endian(out, header.size(), 2);
  out += header;
  append_elements(out, tensor);
  return out;
}

}  // namespace

std::vector<VectorFile> npy_files(const Vectors& vectors) {
  std::vector<VectorFile> out;
  for (const VectorTensor& tensor : vectors.tensors) {
    out.push_back({file_of(tensor, VectorFormat::npy), npy_bytes(tensor)});
  }
  return out;
}

VectorFile safetensors_file(const Vectors& vectors) {
  std::vector<const VectorTensor*> ordered;
  for (const VectorTensor& tensor : vectors.tensors) ordered.push_back(&tensor);
  // As the format's own writer has it: by type, the last of its list first (U64, I64, F64), then by name.
  std::ranges::sort(ordered, [](const VectorTensor* a, const VectorTensor* b) {
    return a->is_whole != b->is_whole ? a->is_whole : a->name < b->name;
  });
  io::JsonWriter json(io::JsonLayout::compact);
  json.begin_object();
  std::size_t offset = 0;
  for (const VectorTensor* tensor : ordered) {
    json.key(tensor->name);
    json.begin_object();
    json.member("dtype", tensor->is_whole ? "I64" : "F64");
    json.key("shape");
    json.numbers(std::span(tensor->shape));
    const std::size_t end = offset + tensor->values.size() * kElement;
    json.key("data_offsets");
    json.begin_array();
    json.value(static_cast<std::uint64_t>(offset));
    json.value(static_cast<std::uint64_t>(end));
    json.end_array();
    json.end_object();
    offset = end;
  }
  json.end_object();
  std::string header = json.take();
  header.append((kSafetensorsAlignment - header.size() % kSafetensorsAlignment) % kSafetensorsAlignment, ' ');
  std::string out;
  append_little_endian(out, header.size(), 8);
  out += header;
  for (const VectorTensor* tensor : ordered) append_elements(out, *tensor);
  return {std::string(kSafetensors), std::move(out)};
}

}  // namespace posenc::inline v0_2::golden
