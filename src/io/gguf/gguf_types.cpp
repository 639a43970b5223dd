// GGUF's value types and ggml's tensor types (ggml.h, ggml-common.h): number, name, and how many bytes a block of how
// many elements takes. Quantised types are known by size only: their weights are never read.
#include "io/gguf/gguf_types.h"

#include <algorithm>
#include <span>

#include "base/formatted.h"

namespace posenc::io {
namespace {

struct ValueType {
  std::string_view name;
  std::uint64_t bytes;
};
// By GGUF's number.
constexpr std::array<ValueType, 13> kValueTypes = {{{"uint8", 1},
                                                    {"int8", 1},
                                                    {"uint16", 2},
                                                    {"int16", 2},
                                                    {"uint32", 4},
                                                    {"int32", 4},
                                                    {"float32", 4},
                                                    {"bool", 1},
                                                    {"string", 0},
                                                    {"array", 0},
                                                    {"uint64", 8},
                                                    {"int64", 8},
                                                    {"float64", 8}}};

// Number, name, numbers in a block, bytes of a block: Q4_0 packs 32 numbers of 4 bits and an f16 scale, 16 + 2 bytes.
//
// Numbers, block lengths and block sizes of ggml 2026-08-18 (ggml.h, ggml-common.h). Numbers that are missing were
// given up or are not in use.
constexpr std::array<GgmlType, 35> kGgmlTypes = {{
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
}};

}  // namespace

std::string_view name(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].name; }

std::optional<GgufType> gguf_type(std::uint32_t number) noexcept {
  if (number >= kValueTypes.size()) return {};
  return static_cast<GgufType>(number);
}

std::uint64_t gguf_size(GgufType type) noexcept { return kValueTypes[static_cast<std::size_t>(type)].bytes; }

std::optional<GgmlType> ggml_type(std::uint32_t number) noexcept {
  const std::span types(kGgmlTypes);
  const auto found = std::ranges::find(types, number, &GgmlType::number);
  if (found == types.end()) return {};
  return *found;
}

std::string ggml_type_name(std::uint32_t number) {
  const std::optional<GgmlType> type = ggml_type(number);
  return type ? std::string(type->name) : formatted("unknown({})", number);
}

}  // namespace posenc::io
