// What ElementType's values are called, and how wide they are, in bits: f6 and f4 of the OCP microscaling formats are
// narrower than a byte.
#include "posenc/tensor_file.h"

namespace posenc::inline v0_2 {
namespace {

struct Described {
  std::string_view name;
  std::int64_t bits;
};

constexpr Described described(ElementType type) noexcept {
  switch (type) {
    case ElementType::f64: return {"f64", 64};
    case ElementType::f32: return {"f32", 32};
    case ElementType::f16: return {"f16", 16};
    case ElementType::bf16: return {"bf16", 16};
    case ElementType::i64: return {"i64", 64};
    case ElementType::i32: return {"i32", 32};
    case ElementType::i16: return {"i16", 16};
    case ElementType::i8: return {"i8", 8};
    case ElementType::u64: return {"u64", 64};
    case ElementType::u32: return {"u32", 32};
    case ElementType::u16: return {"u16", 16};
    case ElementType::u8: return {"u8", 8};
    case ElementType::boolean: return {"bool", 8};
    case ElementType::complex64: return {"complex64", 64};
    case ElementType::complex128: return {"complex128", 128};
    case ElementType::f8_e4m3: return {"f8_e4m3", 8};
    case ElementType::f8_e5m2: return {"f8_e5m2", 8};
    case ElementType::f8_e4m3fnuz: return {"f8_e4m3fnuz", 8};
    case ElementType::f8_e5m2fnuz: return {"f8_e5m2fnuz", 8};
    case ElementType::f8_e8m0: return {"f8_e8m0", 8};
    case ElementType::f6_e2m3: return {"f6_e2m3", 6};
    case ElementType::f6_e3m2: return {"f6_e3m2", 6};
    case ElementType::f4: return {"f4", 4};
    case ElementType::other: break;
  }
  return {"other", 0};
}

}  // namespace

std::string_view name(ElementType type) noexcept { return described(type).name; }
std::int64_t bits_of(ElementType type) noexcept { return described(type).bits; }

// The four that ConstTensorView can name; of the others read() gives bytes that have no view.
std::optional<DType> dtype_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::f64: return DType::f64;
    case ElementType::f32: return DType::f32;
    case ElementType::f16: return DType::f16;
    case ElementType::bf16: return DType::bf16;
    default: return {};
  }
}

std::string_view name(TensorFormat format) noexcept {
  switch (format) {
    case TensorFormat::npy: return "npy";
    case TensorFormat::safetensors: return "safetensors";
    case TensorFormat::gguf: return "gguf";
    case TensorFormat::llama2c: return "llama2c";
    case TensorFormat::npz: return "npz";
  }
  return "unknown";
}

}  // namespace posenc::inline v0_2
