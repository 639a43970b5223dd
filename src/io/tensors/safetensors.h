// What the reader and the writer of safetensors share: the names of types (https://github.com/huggingface/safetensors,
// "Format").
#pragma once

#include <array>
#include <string_view>

#include "posenc/tensor_file.h"

namespace posenc::io {

// The one member of the header that is no tensor: an object of strings.
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

struct SafetensorsType {
  std::string_view name;
  ElementType type;
};
// In the reference's order, by alignment: its writer puts tensors of later types first.
inline constexpr std::array<SafetensorsType, 22> kSafetensorsTypes = {{{"BOOL", ElementType::boolean},
                                                                       {"F4", ElementType::f4},
                                                                       {"F6_E2M3", ElementType::f6_e2m3},
                                                                       {"F6_E3M2", ElementType::f6_e3m2},
                                                                       {"U8", ElementType::u8},
                                                                       {"I8", ElementType::i8},
                                                                       {"F8_E5M2", ElementType::f8_e5m2},
                                                                       {"F8_E4M3", ElementType::f8_e4m3},
                                                                       {"F8_E8M0", ElementType::f8_e8m0},
                                                                       {"F8_E4M3FNUZ", ElementType::f8_e4m3fnuz},
                                                                       {"F8_E5M2FNUZ", ElementType::f8_e5m2fnuz},
                                                                       {"I16", ElementType::i16},
                                                                       {"U16", ElementType::u16},
                                                                       {"F16", ElementType::f16},
                                                                       {"BF16", ElementType::bf16},
                                                                       {"I32", ElementType::i32},
                                                                       {"U32", ElementType::u32},
                                                                       {"F32", ElementType::f32},
                                                                       {"C64", ElementType::complex64},
                                                                       {"F64", ElementType::f64},
                                                                       {"I64", ElementType::i64},
                                                                       {"U64", ElementType::u64}}};

// ElementType::other for a name that is not among them.
ElementType safetensors_type(std::string_view name) noexcept;

}  // namespace posenc::io
