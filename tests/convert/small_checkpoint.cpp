#include "convert/small_checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

#include "posenc/tensor_file.h"
#include "support/temporary_folder.h"

namespace posenc::test {

std::string safetensors_of(const std::vector<SmallTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const SmallTensor& tensor : tensors) {
    std::string shape;
    for (const std::int64_t size : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header.size() > 1 ? "," : "") + ("\"" + tensor.name + "\":{\"dtype\":\"" + tensor.type) +
              "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.data.size()) + "]}";
    data += tensor.data;
  }
  header += "}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}

std::string random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 source(seed);
  std::string out(count, '\0');
  for (char& byte : out) byte = static_cast<char>(source());
  return out;
}

SmallTensor numbers(std::string name, std::vector<std::int64_t> shape, std::uint32_t seed) {
  std::mt19937 source(seed);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::string data;
  for (std::int64_t i = 0; i < count; ++i) {
    // bf16: exponents of 2^-3 to 2^0, any sign and fraction.
    const auto bits = static_cast<std::uint32_t>(source());
    const std::uint32_t word = (bits & 0x807FU) | ((124U + (bits >> 16 & 3U)) << 7U);
    data += static_cast<char>(word & 0xFFU);
    data += static_cast<char>(word >> 8U);
  }
  return {std::move(name), "BF16", std::move(shape), std::move(data)};
}

SmallTensor any_bytes(std::string name, std::string type, std::vector<std::int64_t> shape, std::int64_t row_bytes,
                      std::uint32_t seed) {
  const std::int64_t rows = shape.empty() ? 1 : shape.front();
  return {std::move(name), std::move(type), std::move(shape),
          random_bytes(static_cast<std::size_t>(rows * row_bytes), seed)};
}

std::string interleaved(std::string data, std::int64_t row_bytes, const RowsOfHeads& rows) {
  const std::string before = data;
  const auto width = static_cast<std::size_t>(row_bytes);
  for (std::int64_t head = 0; head < rows.heads; ++head) {
    const std::int64_t base = rows.start + head * rows.between + rows.first;
    for (std::int64_t p = 0; p < rows.dim / 2; ++p) {
      for (std::int64_t of_two = 0; of_two < 2; ++of_two) {
        const auto from = static_cast<std::size_t>(base + of_two * (rows.dim / 2) + p);
        const auto to = static_cast<std::size_t>(base + 2 * p + of_two);
        data.replace(to * width, width, before, from * width, width);
      }
    }
  }
  return data;
}

std::string tensor_bytes(const std::filesystem::path& path, std::string_view name) {
  const Result<TensorFile> file = open_tensor_file(path);
  if (!file) return file.error().message();
  const TensorEntry* const entry = file->find(name);
  if (entry == nullptr) return "no such tensor";
  return file_content(path).substr(static_cast<std::size_t>(entry->offset), static_cast<std::size_t>(entry->bytes));
}

std::vector<SmallTensor> small_llama(bool biases) {
  std::vector<SmallTensor> out;
  out.push_back(numbers("model.embed_tokens.weight", {16, 32}, 1));
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".self_attn.";
    const auto seed = static_cast<std::uint32_t>(10 * layer);
    out.push_back(numbers(at + "k_proj.weight", {16, 32}, seed + 2));
    out.push_back(numbers(at + "o_proj.weight", {32, 32}, seed + 3));
    out.push_back(numbers(at + "q_proj.weight", {32, 32}, seed + 4));
    out.push_back(numbers(at + "v_proj.weight", {16, 32}, seed + 5));
    if (!biases) continue;
    out.push_back(numbers(at + "q_proj.bias", {32}, seed + 6));
    out.push_back(numbers(at + "k_proj.bias", {16}, seed + 7));
  }
  out.push_back(numbers("model.norm.weight", {32}, 9));
  return out;
}

std::string refusal(const ConvertArgs& args) {
  try {
    const Result<Conversion> done = convert(args);
    return done ? "" : done.error().message();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace posenc::test
