// Checkpoints of some KiB, made byte by byte, and what their rows must become: by the reshape of llama.cpp's
// converters, not by posenc's own order of rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/convert.h"

namespace posenc::test {

struct SmallTensor {
  std::string name;
  std::string type;  // "BF16"
  std::vector<std::int64_t> shape;
  std::string data;
};

// Tensors one after another, as they are given. A header of the caller's own is for files that lie.
std::string safetensors_of(const std::vector<SmallTensor>& tensors);

// So many random bytes, no NaN among them unless `any`: of bf16 numbers near 1, of floats small ones.
std::string random_bytes(std::size_t count, std::uint32_t seed);
// A tensor of random bf16 numbers from -2 to 2.
SmallTensor numbers(std::string name, std::vector<std::int64_t> shape, std::uint32_t seed);
// Any bytes: NaNs of every payload, infinities, denormals.
SmallTensor any_bytes(std::string name, std::string type, std::vector<std::int64_t> shape, std::int64_t row_bytes,
                      std::uint32_t seed);

// Heads of `between` rows each from row `start` on; `dim` rows of each, from its `first` on, come in the other order.
struct RowsOfHeads {
  std::int64_t start = 0;
  std::int64_t heads = 1;
  std::int64_t between = 0;
  std::int64_t first = 0;
  std::int64_t dim = 0;
};
// weights.reshape(n_head, 2, dim / 2, ...).swapaxes(1, 2): rows p and p + dim/2 of a head become rows 2p and 2p + 1.
std::string interleaved(std::string data, std::int64_t row_bytes, const RowsOfHeads& rows);

// The bytes of a tensor in a safetensors file that posenc has written.
std::string tensor_bytes(const std::filesystem::path& path, std::string_view name);

// A Llama of two layers, 4 heads of 8 channels, 2 KV heads, a hidden size of 32; with biases where asked.
inline constexpr std::string_view kSmallLlama =
    R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
 "num_hidden_layers": 2, "max_position_embeddings": 64, "rope_theta": 10000.0})";
std::vector<SmallTensor> small_llama(bool biases = false);

// The message of a conversion that is refused, by an Error or a FileError; empty where it is not.
std::string refusal(const ConvertArgs& args);

}  // namespace posenc::test
