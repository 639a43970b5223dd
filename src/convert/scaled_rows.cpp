#include "convert/scaled_rows.h"

#include <algorithm>

#include "convert/tensor_names.h"

namespace posenc::conversion {
namespace {

struct Row {
  std::string_view ending;
  EndingMeaning meaning;
};

constexpr EndingMeaning kRows{EndingUse::rows};
constexpr EndingMeaning kFactors{EndingUse::rows, true};
constexpr EndingMeaning kScales{EndingUse::scales, true};
constexpr EndingMeaning kGptq{
    EndingUse::packed, false,
    "GPTQ's zero points and AWQ's weights have several outputs in one word: convert the model "
    "that was quantised, and quantise that again"};
constexpr EndingMeaning kCompressed{
    EndingUse::packed, false,
    "compressed-tensors has several outputs of a zero point in one word: convert the model "
    "that was quantised, and quantise that again"};
constexpr EndingMeaning kBitsAndBytes{EndingUse::packed, false,
                                      "bitsandbytes flattens the matrix into blocks that do not end with its rows: "
                                      "convert the model that was quantised, and quantise that again"};

constexpr Row kEndings[] = {
    {"weight", kRows},
    {"bias", kRows},
    {"base_layer.weight", kRows},
    {"base_layer.bias", kRows},
    {"lora_magnitude_vector", kFactors},
    {"lora_magnitude_vector.weight", kFactors},
    {"weight_scale", kScales},      // compressed-tensors' unpacked fp8 and int8, ModelOpt, FBGEMM
    {"weight_scale_inv", kScales},  // DeepSeek's and transformers' fp8 in blocks of 128 x 128
    {"scale", kScales},             // DeepSeek's own files
    {"qweight", kGptq},
    {"qzeros", kGptq},
    {"scales", kGptq},
    {"g_idx", kGptq},
    {"weight_packed", kCompressed},
    {"weight_zero_point", kCompressed},
    {"weight_shape", kCompressed},
    {"weight_g_idx", kCompressed},
    {"SCB", kBitsAndBytes},
    {"weight_format", kBitsAndBytes},
    {"weight.absmax", kBitsAndBytes},
    {"weight.quant_map", kBitsAndBytes},
    {"weight.nested_absmax", kBitsAndBytes},
    {"weight.nested_quant_map", kBitsAndBytes},
};

constexpr std::int64_t kUsualBlock = 128;  // weight_block_size of DeepSeek V3 and of transformers' FP8

}  // namespace

EndingMeaning meaning_of(std::string_view ending) {
  const auto* const row = std::ranges::find(kEndings, ending, &Row::ending);
  if (row != std::end(kEndings)) return row->meaning;
  if (is_lora_a(ending)) return {EndingUse::stays};
  if (is_lora_b(ending)) return kRows;
  if (ending.starts_with("weight.quant_state")) return kBitsAndBytes;
  return {};
}

std::int64_t rows_of_block(std::int64_t rows, std::int64_t scales) noexcept {
  if (scales <= 0 || rows <= 0) return 0;
  if (rows / kUsualBlock + (rows % kUsualBlock != 0 ? 1 : 0) == scales) return kUsualBlock;
  return rows % scales == 0 ? rows / scales : 0;
}

bool stays_in_blocks(const HeadRows& heads, std::int64_t block) noexcept {
  return std::ranges::all_of(heads.starts, [&](std::int64_t start) {
    const std::int64_t first = start + heads.first_channel;
    return first / block == (first + heads.dim - 1) / block;
  });
}

}  // namespace posenc::conversion
