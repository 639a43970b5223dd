#include "hostile/gguf_cases.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "support/gguf_builder.h"

namespace posenc::test {
namespace {

using namespace std::string_literals;
using enum ErrorKind;

constexpr std::uint64_t kMost = UINT64_MAX;

// A model that is read without a warning: 4 heads of 16 channels, 2 layers.
GgufBuilder llama(std::uint32_t version = 3) {
  GgufBuilder file(version);
  file.text("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .u32("llama.context_length", 4096)
      .u32("llama.embedding_length", 64)
      .u32("llama.attention.head_count", 4);
  return file;
}
GgufBuilder qwen(std::vector<std::int32_t> sections) {
  return GgufBuilder()
      .text("general.architecture", "qwen2vl")
      .u32("qwen2vl.block_count", 2)
      .u32("qwen2vl.context_length", 4096)
      .u32("qwen2vl.embedding_length", 64)
      .u32("qwen2vl.attention.head_count", 4)
      .i32s("qwen2vl.rope.dimension_sections", std::move(sections));
}

std::function<std::string()> of(GgufBuilder file) {
  return [bytes = file.bytes()] { return bytes; };
}
std::function<std::string()> text(std::string bytes) {
  return [bytes = std::move(bytes)] { return bytes; };
}
GgufBuilder::Tensor tensor(std::vector<std::uint64_t> shape, std::uint32_t type = kF32) {
  return {.name = "t", .shape = std::move(shape), .type = type};
}

// A key whose length is announced and whose bytes are not there.
std::string key_of_length(std::uint64_t length) {
  std::string bytes = GgufBuilder().key_count(1).header();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + std::string(32, 'k');
}
std::string text_of_length(std::uint64_t length) {
  std::string value;
  for (int i = 0; i < 8; ++i) value += static_cast<char>(length >> (8 * i));
  return llama().raw("llama.odd", static_cast<std::uint32_t>(Gguf::text), value + "short").bytes();
}
std::string million_keys(bool one_twice) {
  GgufBuilder file = llama();
  for (int i = 0; i < 999'000; ++i) file.byte("x.y" + std::to_string(i), Gguf::u8, 0);
  if (one_twice) file.byte("x.y500000", Gguf::u8, 0);
  return file.bytes();
}
std::string name_of_length(std::uint64_t length) {
  std::string bytes = llama().tensor_count(1).header();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + std::string(64, 'n');
}

void add_header(std::vector<GgufCase>& cases) {
  cases.insert(cases.end(),
               {{"C1_reversed", of(GgufBuilder().magic("FUGG")), wrong_format, "magic reversed"},
                {"C1_lower_case", of(GgufBuilder().magic("gguf")), wrong_format, "GGUF"},
                {"C1_ggml", of(GgufBuilder().magic("lmgg")), wrong_format, "before GGUF"},
                {"C1_ggjt", of(GgufBuilder().magic("tjgg")), wrong_format, "before GGUF"},
                {"C1_ggla", of(GgufBuilder().magic("algg")), wrong_format, "before GGUF"},
                {"C2_version_0", of(GgufBuilder(0)), unsupported_version, "version 1, 2 or 3, got 0", "", 4},
                {"C2_version_1", of(llama(1)), {}, ""},
                {"C2_version_4", of(GgufBuilder(4)), unsupported_version, "got 4", "", 4},
                {"C2_version_2_31", of(GgufBuilder(1U << 31)), unsupported_version, "got 2147483648", "", 4},
                {"C3_big_endian_version_9", of(GgufBuilder(9, true)), unsupported_version, "got 150994944", "", 4},
                {"C4_keys_2_64", of(llama().key_count(kMost)), count_too_large, "18446744073709551615", "", 16},
                {"C4_keys_2_63", of(llama().key_count(1ULL << 63)), count_too_large, "number of keys", "", 16},
                {"C4_tensors_2_64", of(llama().tensor_count(kMost)), count_too_large, "number of tensors", "", 8},
                {"C4_one_too_many", of(GgufBuilder().key_count(1)), count_too_large, "0 are left", "", 16},
                {"C5_fewer_keys", of(llama().key_count(6)), truncated, "key 6 of 6"},
                {"A7_half_a_download", of(llama().tensor({.name = "t", .shape = {1 << 20}})), truncated,
                 "the header is whole, the weights are not"},
                {"A6_no_version", text("GGUF"), truncated, "4 bytes for the version, got 0", "", 4},
                {"A6_no_counts", text("GGUF\3\0\0\0\0\0"s), truncated, "got 2", "", 8}});
}

void add_keys(std::vector<GgufCase>& cases) {
  cases.insert(
      cases.end(),
      {{"C6_length_0", text(key_of_length(0)), bad_key, "1 to 65535 bytes, got 0", "", 24},
       {"C6_length_65536", text(key_of_length(65536)), bad_key, "got 65536", "", 24},
       {"C6_length_2_64", text(key_of_length(kMost)), bad_key, "got 18446744073709551615", "", 24},
       {"C7_nul", of(llama().u32("llama.rope\0x"s, 1)), bad_key, "without control characters"},
       {"C7_escape", of(llama().u32("llama.\x1B[2J", 1)), bad_key, "\\x1b"},
       {"C7_not_utf8", of(llama().u32("llama.\xFF", 1)), bad_key, "UTF-8"},
       {"C7_upper_case", of(llama().u32("Llama.Odd", 1)), {}, "odd-key"},
       {"C8_adjacent", of(llama().u32("llama.x", 1).u32("llama.x", 1)), duplicate_key, "first at byte 218"},
       {"C8_used", of(llama().f32("llama.rope.freq_base", 1e4F).f32("llama.rope.freq_base", 1e6F)), duplicate_key,
        "each key once"},
       {"C8_million_keys", [] { return million_keys(false); }, {}, ""},
       {"C8_million_keys_one_twice", [] { return million_keys(true); }, duplicate_key, "stands twice"},
       {"C9_type_13", of(llama().raw("llama.x", 13, "1234")), bad_type, "a type from 0 to 12, got 13", "llama.x"},
       {"C9_type_255", of(llama().raw("llama.x", 255, "1234")), bad_type, "got 255", "llama.x"},
       {"C9_type_2_31", of(llama().raw("llama.x", 1U << 31, "1234")), bad_type, "got 2147483648", "llama.x"},
       {"C9_type_minus_1", of(llama().raw("llama.x", UINT32_MAX, "1234")), bad_type, "got 4294967295", "llama.x"},
       {"C10_array_of_arrays", of(llama().array_head("llama.x", Gguf::array, 1)), nested_array, "an array of arrays",
        "llama.x"},
       {"C11_count_2_64", of(llama().array_head("llama.x", Gguf::u8, kMost)), truncated, "18446744073709551615 bytes"},
       {"C11_product_wraps", of(llama().array_head("llama.x", Gguf::u64, 1ULL << 61)), truncated, "llama.x"},
       {"C11_fifty_million_absent", of(llama().array_head("tokenizer.ggml.tokens", Gguf::text, 50'000'000)), truncated,
        "400000000 bytes for tokenizer.ggml.tokens"},
       {"C12_string_2_64", text(text_of_length(kMost)), truncated, "18446744073709551615 bytes for llama.odd"},
       {"C12_string_1_gib", text(text_of_length(1ULL << 30)), truncated, "1073741824 bytes for llama.odd"},
       {"C13_bool_2", of(llama().byte("llama.attention.causal", Gguf::boolean, 2)), {}, "odd-bool"},
       {"C13_bool_255", of(llama().byte("llama.attention.causal", Gguf::boolean, 255)), {}, "odd-bool"},
       {"C14_alignment_0", of(llama().u32("general.alignment", 0)), bad_alignment, "power of two", "general.alignment"},
       {"C14_alignment_3", of(llama().u32("general.alignment", 3)), bad_alignment, "got 3", "general.alignment"},
       {"C14_alignment_2_31", of(llama().u32("general.alignment", 1U << 31)), bad_alignment, "1 to 65536",
        "general.alignment"},
       {"C14_alignment_int32", of(llama().i32("general.alignment", 32)), type, "a uint32, got int32",
        "general.alignment"},
       {"C14_alignment_string", of(llama().text("general.alignment", "32")), type, "got string", "general.alignment"},
       {"C14_alignment_array", of(llama().i32s("general.alignment", {32})), type, "got array", "general.alignment"},
       {"C14_alignment_twice", of(llama().u32("general.alignment", 32).u32("general.alignment", 64)), duplicate_key,
        "each key once"}});
}

void add_meaning(std::vector<GgufCase>& cases) {
  const auto architecture = [](std::string_view name) { return of(GgufBuilder().text("general.architecture", name)); };
  const auto f32 = [](std::string_view key, float value) {
    return of(llama().f32("llama." + std::string(key), value));
  };
  const auto u32 = [](std::string_view key, std::uint32_t value) {
    return of(llama().u32("llama." + std::string(key), value));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  cases.insert(
      cases.end(),
      {{"C15_missing", of(GgufBuilder().u32("llama.block_count", 2)), missing_key, "this key", "general.architecture"},
       {"C15_number", of(GgufBuilder().u32("general.architecture", 2)), type, "a string, got 2",
        "general.architecture"},
       {"C15_path", architecture("../x"), bad_value, "../x", "general.architecture"},
       {"C15_escape", architecture("\x1B[31mllama"), bad_value, "\\x1b", "general.architecture"},
       {"C15_long", architecture(std::string(100'000, 'a')), bad_value, "a string of 100000 bytes",
        "general.architecture"},
       {"C16_nan", f32("rope.freq_base", NAN), not_finite, "nan", "llama.rope.freq_base"},
       {"C16_infinite", f32("rope.freq_base", kInfinity), not_finite, "inf", "llama.rope.freq_base"},
       {"C16_0", f32("rope.freq_base", 0), out_of_range, "got 0", "llama.rope.freq_base"},
       {"C16_negative", f32("rope.freq_base", -1e4F), out_of_range, "got -10000", "llama.rope.freq_base"},
       {"C16_u32", u32("rope.freq_base", 10000), {}, ""},
       {"C16_f64", of(llama().f64("llama.rope.freq_base", 1e4)), {}, ""},
       {"C16_string", of(llama().text("llama.rope.freq_base", "10000")), type, "a number, got \"10000\"",
        "llama.rope.freq_base"},
       {"C17_0", u32("rope.dimension_count", 0), out_of_range, "got 0", "llama.rope.dimension_count"},
       {"C17_odd", u32("rope.dimension_count", 15), out_of_range, "an even number", "llama.rope.dimension_count"},
       {"C17_wider_than_the_head", u32("rope.dimension_count", 18), out_of_range, "18 of 16 channels",
        "llama.rope.dimension_count"},
       {"C17_array", of(llama().i32s("llama.rope.dimension_count", {8, 8})), type, "an array of 2",
        "llama.rope.dimension_count"},
       {"C18_two", of(qwen({4, 4})), bad_sections, "3 or 4 axes", "qwen2vl.rope.dimension_sections"},
       {"C18_negative", of(qwen({-1, 4, 4, 0})), out_of_range, "got -1", "qwen2vl.rope.dimension_sections"},
       {"C18_too_many_pairs", of(qwen({4, 4, 4, 0})), bad_sections, "4 + 4 + 4 + 0 = 12",
        "qwen2vl.rope.dimension_sections"},
       {"C18_all_0", of(qwen({0, 0, 0, 0})), bad_sections, "= 0", "qwen2vl.rope.dimension_sections"},
       {"C19_unknown_type", of(llama().text("llama.rope.scaling.type", "yam")), unknown_rope_type, "\"yam\"",
        "llama.rope.scaling.type"},
       {"C19_factor_0", f32("rope.scaling.factor", 0), out_of_range, "above 0", "llama.rope.scaling.factor"},
       {"C19_factor_negative", f32("rope.scaling.factor", -2), out_of_range, "got -2", "llama.rope.scaling.factor"},
       {"C19_longrope_without_lists", of(llama().text("llama.rope.scaling.type", "longrope").zeros("t", {2})),
        missing_key, "longrope", "rope_factors_long.weight"},
       {"G_block_count_0", of(GgufBuilder().text("general.architecture", "llama").u32("llama.block_count", 0)),
        out_of_range, "got 0", "llama.block_count"},
       {"G_block_count_missing", of(GgufBuilder().text("general.architecture", "llama")), missing_key, "this key",
        "llama.block_count"},
       {"G_heads_2_63", of(llama().u64("llama.attention.head_count_kv", 1ULL << 63)), out_of_range,
        "got 9.223372036854776e+18", "llama.attention.head_count_kv"},
       {"G_heads_per_layer", of(llama().i32s("llama.attention.head_count_kv", {4, 4, 4})), length_mismatch,
        "each of the 2 layers", "llama.attention.head_count_kv"},
       {"G_kv_heads_do_not_divide", u32("attention.head_count_kv", 3), not_divisible, "a divisor of the 4 heads",
        "llama.attention.head_count_kv"}});
}

void add_tensors(std::vector<GgufCase>& cases) {
  const auto freqs = [](std::vector<float> values) { return of(llama().floats("rope_freqs.weight", values)); };
  const auto of_type = [](std::uint32_t type, std::string data) {
    return of(llama().tensor({.name = "rope_freqs.weight", .shape = {32}, .type = type, .data = std::move(data)}));
  };
  const auto shaped = [](std::vector<std::uint64_t> shape, std::uint32_t type = kF32) {
    return of(llama().tensor(tensor(std::move(shape), type)));
  };
  const std::vector<float> ones(8, 1.0F);
  std::vector<float> with_nan = ones;
  with_nan[3] = NAN;
  std::vector<float> with_zero = ones;
  with_zero[7] = 0;
  cases.insert(
      cases.end(),
      {{"C20_right", freqs(ones), {}, ""},
       {"C20_short", freqs(std::vector<float>(7, 1.0F)), length_mismatch, "8 numbers, one a pair, got 7",
        "rope_freqs.weight"},
       {"C20_quantised", of_type(kQ8, std::string(34, '\1')), type, "F32 or F16, got Q8_0", "rope_freqs.weight"},
       {"C20_unknown_type", of_type(4, std::string(64, '\1')), type, "unknown(4)", "rope_freqs.weight"},
       {"C20_nan", freqs(with_nan), not_finite, "number 3 of 8", "rope_freqs.weight"},
       {"C20_zero", freqs(with_zero), out_of_range, "divisors above 0, got 0", "rope_freqs.weight"},
       {"C20_huge",
        of(llama().tensor({.name = "rope_freqs.weight", .shape = {10000}, .data = std::string(40000, '\1')})), limit,
        "at most 8192 numbers", "rope_freqs.weight"},
       {"C21_length_64", of(llama().zeros(std::string(64, 'n'), {2})), {}, "tensor-name"},
       {"C21_length_2_64", text(name_of_length(kMost)), bad_tensor, "at most 65535 bytes"},
       {"C21_empty", of(llama().zeros("", {2})), {}, "tensor-name"},
       {"C21_twice", of(llama().zeros("t", {2}).zeros("t", {2})), bad_tensor, "stands twice"},
       {"C21_nul", of(llama().zeros("t\0x"s, {2})), bad_tensor, "control characters"},
       {"C22_scalar", of(llama().zeros("t", {})), {}, ""},
       {"C22_dims_5", of(llama().zeros("t", {1, 1, 1, 1, 1})), bad_tensor, "at most 4 dimensions, got 5", "t"},
       {"C22_dims_2_32", of(llama().tensor({.name = "t", .shape = {1}, .dims = UINT32_MAX})), bad_tensor,
        "got 4294967295", "t"},
       {"C23_negative", shaped({kMost}), out_of_range, "18446744073709551615", "t"},
       {"C23_zero", shaped({0}), {}, ""},
       {"C23_2_63", shaped({(1ULL << 63) - 1}), overflow, "2^63 bytes", "t"},
       {"C23_zero_hides_another", shaped({0, 1ULL << 62, 1ULL << 62}), overflow, "2^63 elements", "t"},
       {"C24_2_32_squared", shaped({1ULL << 32, 1ULL << 32}), overflow, "2^63 elements", "t"},
       {"C24_2_62", shaped({1ULL << 62}), overflow, "2^63 bytes", "t"},
       {"C24_padded_to_0", shaped({(1ULL << 62) - 1}), overflow, "2^63 bytes", "t"},
       {"C24_just_above", shaped({(1ULL << 42) + 1, 1ULL << 22}), overflow, "2^63 elements", "t"},
       {"C24_sum_wraps",
        of(llama()
               .tensor({.name = "a", .shape = {1ULL << 60}})
               .tensor({.name = "b", .shape = {1ULL << 60}, .offset = 1ULL << 62})),
        overflow, "in all", "b"},
       {"C25_block", shaped({31}, kQ8), block_size, "a multiple of 32 numbers, the block of Q8_0, got 31", "t"},
       {"C26_type_4", shaped({32}, 4), {}, ""},
       {"C26_type_31", shaped({32}, 31), {}, ""},
       {"C26_type_million", shaped({32}, 1'000'000), {}, ""},
       {"C27_unaligned", of(llama().tensor({.name = "t", .shape = {2}, .offset = 8, .data = std::string(64, '\0')})),
        bad_offset, "offset 0", "t"},
       {"C27_gap",
        of(llama().zeros("a", {2}).tensor({.name = "b", .shape = {2}, .offset = 64, .data = std::string(64, '\0')})),
        bad_offset, "offset 32, where the one before ends, got 64", "b"},
       {"C27_overlap",
        of(llama().zeros("a", {16}).tensor({.name = "b", .shape = {2}, .offset = 32, .data = std::string(8, '\0')})),
        bad_offset, "offset 64", "b"},
       {"C27_beyond_the_file", of(llama().tensor({.name = "t", .shape = {1024}, .data = std::string(64, '\0')})),
        truncated, "the weights are not"},
       {"C28_count_0", of(llama().u32("split.count", 0)), split, "from 1 to 65535", "split.count"},
       {"C28_count_65536", of(llama().u32("split.count", 65536)), split, "got 65536", "split.count"},
       {"C28_number_out_of_range", of(llama().u32("split.count", 2).u32("split.no", 2)), split, "below split.count, 2",
        "split.no"},
       {"C28_second_part", of(llama().u32("split.count", 2).u32("split.no", 1)), split, "part 2 of 2", "split.no"},
       {"C28_count_a_string", of(llama().text("split.count", "2")), type, "an integer", "split.count"}});
}

}  // namespace

std::vector<GgufCase> gguf_cases() {
  std::vector<GgufCase> cases;
  add_header(cases);
  add_keys(cases);
  add_meaning(cases);
  add_tensors(cases);
  return cases;
}

}  // namespace posenc::test
