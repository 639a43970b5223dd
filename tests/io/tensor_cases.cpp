#include "io/tensor_cases.h"

#include "support/gguf_builder.h"
#include "support/tensor_bytes.h"

namespace posenc::test {
namespace {

using Kind = ErrorKind;
using Cases = std::vector<TensorCase>;

// ---- E: .npy ----

TensorCase npy(std::string id, const std::string& header, std::string_view data, std::optional<Kind> kind,
               std::string fragment, std::string path = {}, std::int64_t offset = -1) {
  return {.id = std::move(id),
          .format = TensorFormat::npy,
          .make = [header, data = std::string(data)] { return npy_bytes(header, data); },
          .kind = kind,
          .fragment = std::move(fragment),
          .path = std::move(path),
          .offset = offset};
}

TensorCase npy_bytes_case(std::string id, const std::string& bytes, std::optional<Kind> kind, std::string fragment,
                          std::int64_t offset = -1) {
  return {.id = std::move(id),
          .format = TensorFormat::npy,
          .make = [bytes] { return bytes; },
          .kind = kind,
          .fragment = std::move(fragment),
          .offset = offset};
}

const std::string kFour(4, '\0');
const std::string kGood = npy_dict("<f4", "(1,)");

void add_npy_headers(Cases& cases) {
  cases.push_back(npy_bytes_case("E1_magic", "\x93NUMPX" + kFour, Kind::wrong_format, "magic", 0));
  cases.push_back(npy_bytes_case("E1_version_0", npy_bytes(kGood, kFour, 0), Kind::unsupported_version, "0.0", 6));
  cases.push_back(npy_bytes_case("E1_version_1_1", "\x93NUMPY\x01\x01" + kFour, Kind::unsupported_version, "1.1"));
  cases.push_back(npy_bytes_case("E1_version_4", npy_bytes(kGood, kFour, 4), Kind::unsupported_version, "4.0"));
  cases.push_back(npy_bytes_case("E2_length_beyond_the_file", std::string("\x93NUMPY\x01\0\xFF\x20", 10) + kGood,
                                 Kind::truncated, "8447 bytes for the header", 10));
  cases.push_back(npy_bytes_case("E2_length_10001", npy_bytes(kGood + std::string(10001 - kGood.size(), ' ')),
                                 Kind::limit, "at most 10000 bytes", 8));
  cases.push_back(npy_bytes_case("E2_length_4_GiB", std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12), Kind::limit,
                                 "4294967295", 8));
  cases.push_back(npy("E3_no_dict", "['descr']", "", Kind::header_syntax, "'{'", "", 10));
  cases.push_back(npy("E3_expression", "{'descr': '<f4', 'fortran_order': False, 'shape': (1+1,), }", kFour,
                      Kind::header_syntax, "a comma", "shape", 62));
  cases.push_back(npy("E3_call", "{'descr': __import__('os'), }", "", Kind::header_syntax, "in quotes", "descr"));
  cases.push_back(npy("E3_extra_key", "{'descr': '<f4', 'x': 1}", "", Kind::bad_key, "got x", "", 27));
  cases.push_back(npy("E3_missing_key", "{'descr': '<f4', 'shape': (1,)}", kFour, Kind::missing_key, "without it",
                      "fortran_order"));
  cases.push_back(npy("E3_twice", "{'descr': '<f4', 'descr': '<f8'}", "", Kind::duplicate_key, "twice", "descr", 27));
  cases.push_back(npy("E3_behind_the_dict", kGood + "1", kFour, Kind::header_syntax, "nothing behind"));
  cases.push_back(npy("E3_no_end", "{'descr': '<f4'", "", Kind::header_syntax, "the end of the header"));
  cases.push_back(npy("E3_string_without_end", "{'descr", "", Kind::header_syntax, "a string"));
  cases.push_back(npy("E3_empty", "", "", Kind::header_syntax, "'{'"));
  cases.push_back(npy("E12_not_ascii", "{'descr': '<f\xE9'}", "", Kind::header_syntax, "plain ASCII", "descr"));
  cases.push_back(npy("E12_escape", R"({'descr': '<f\x34'})", "", Kind::header_syntax, "plain ASCII", "descr"));
  cases.push_back(
      npy("E7_fortran_1", npy_dict("<f4", "(1,)", "1"), kFour, Kind::header_syntax, "True or False", "fortran_order"));
  cases.push_back(npy_bytes_case("E14_npz", "PK\x03\x04" + kFour + kFour, Kind::wrong_format, "magic", 0));
}

void add_npy_types(Cases& cases) {
  for (const char* descr :
       {"|O", "<U4", "|S4", "<m8", "<M8[D]", "<f16", "<c32", "=f4", "|f4", "f4", "", "<", "<V2", "|V4", ">i3", "<b2"}) {
    cases.push_back(
        npy(std::string("E4_") + descr, npy_dict(descr, "(1,)"), kFour, Kind::bad_type, "byte order", "descr", 20));
  }
  cases.push_back(npy("E4_structure", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", kFour,
                      Kind::bad_type, "one type", "descr"));
  for (const char* descr : {"<V2", "|V2", "<u2"}) {
    TensorCase accepted = npy(std::string("E4_bf16_") + descr, npy_dict(descr, "(2,)"), kFour, {}, "");
    accepted.raw16_is_bf16 = true;
    cases.push_back(std::move(accepted));
  }
  for (const char* descr : {">f4", "<i4", "|u1", "<b1"}) {
    cases.push_back(npy(std::string("E4_good_") + descr, npy_dict(descr, "(0,)"), "", {}, ""));
  }
}

void add_npy_shapes(Cases& cases) {
  const auto shape = [&](std::string id, std::string_view text, std::optional<Kind> kind, std::string fragment) {
    cases.push_back(npy(std::move(id), npy_dict("<f4", text), kFour, kind, std::move(fragment), kind ? "shape" : ""));
  };
  shape("E5_list", "[1]", Kind::header_syntax, "'('");
  shape("E5_negative", "(-1,)", Kind::header_syntax, "decimal digits");
  shape("E5_True", "(True,)", Kind::header_syntax, "decimal digits");
  shape("E5_hex", "(0x1,)", Kind::header_syntax, "a comma");
  shape("E5_leading_zero", "(01,)", Kind::header_syntax, "decimal digits");
  shape("E5_python_2", "(1L,)", {}, "");
  shape("E5_no_tuple", "(1)", Kind::header_syntax, "no tuple");
  shape("E5_no_comma", "(1 1)", Kind::header_syntax, "a comma");
  shape("E5_two_commas", "(1,,)", Kind::header_syntax, "decimal digits");
  shape("E5_nested", "((1,),)", Kind::header_syntax, "decimal digits");
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  shape("E5_33_axes", many + ")", Kind::limit, "at most 32 axes");
  shape("E6_product_wraps", "(4294967296,4294967296)", Kind::overflow, "2^61");
  shape("E6_bytes_wrap", "(4611686018427387905,)", Kind::overflow, "2^61");
  shape("E6_size_2_63", "(9223372036854775808,)", Kind::overflow, "2^63");
  shape("E6_400_digits", "(" + std::string(400, '9') + ",)", Kind::overflow, "2^63");
  shape("E6_zero_hides_nothing", "(0,4294967296,4294967296)", Kind::overflow, "2^61");
  cases.push_back(npy("E6_no_data", npy_dict("<f4", "(1099511627776,)"), "", Kind::truncated,
                      "4398046511104 bytes for the elements"));
  cases.push_back(npy("E8_empty", npy_dict("<f4", "(3, 0)"), "", {}, ""));
  cases.push_back(npy("E9_scalar", npy_dict("<f4", "()"), kFour, {}, ""));
  cases.push_back(npy("E10_more_data", kGood, kFour + "x", {}, "trailing-bytes"));
  cases.push_back(npy("E11_less_data", kGood, "abc", Kind::truncated, "got 3"));
  cases.push_back(npy("E13_unaligned", "{\"descr\":'<f4','fortran_order':False,'shape':(1,)}", kFour, {}, ""));
}

// ---- D: safetensors ----

TensorCase safetensors(std::string id, const std::string& header, std::size_t data, std::optional<Kind> kind,
                       std::string fragment, std::string path = {}, std::int64_t offset = -1) {
  return {.id = std::move(id),
          .format = TensorFormat::safetensors,
          .make = [header, data] { return safetensors_bytes(header, std::string(data, '\0')); },
          .kind = kind,
          .fragment = std::move(fragment),
          .path = std::move(path),
          .offset = offset};
}

// One tensor "a".
TensorCase entry(std::string id, std::string_view dtype, std::string_view shape, std::string_view offsets,
                 std::size_t data, std::optional<Kind> kind, std::string fragment, std::string path = {}) {
  return safetensors(std::move(id), "{" + safetensors_entry("a", dtype, shape, offsets) + "}", data, kind,
                     std::move(fragment), std::move(path));
}

void add_safetensors_headers(Cases& cases) {
  const auto length = [&](std::string id, std::uint64_t says, Kind kind, std::string fragment) {
    cases.push_back({.id = std::move(id),
                     .format = TensorFormat::safetensors,
                     .make = [says] { return little(says, 8) + "{}"; },
                     .kind = kind,
                     .fragment = std::move(fragment)});
  };
  length("D1_length_0", 0, Kind::out_of_range, "2 bytes or more");
  length("D1_length_1", 1, Kind::out_of_range, "2 bytes or more");
  length("D1_length_3", 3, Kind::truncated, "3 bytes for the header");
  length("D1_length_100_MB", 100'000'001, Kind::limit, "100000001");
  length("D1_length_2_63", std::uint64_t{1} << 63U, Kind::limit, "9223372036854775808");
  length("D1_length_2_64", UINT64_MAX, Kind::limit, "18446744073709551615");
  cases.push_back(safetensors("D2_nothing", "{}", 0, {}, ""));
  cases.push_back(safetensors("D3_leading_space", "  {} ", 0, {}, "leading-space"));
  cases.push_back(safetensors("D3_trailing_space", "{}      ", 0, {}, ""));
  cases.push_back(safetensors("D4_not_utf8", "{\"\xFF\":1}", 0, Kind::json_utf8, "", "", 10));
  cases.push_back(safetensors("D4_no_json", "{'a'}", 0, Kind::json_syntax, "", "", 9));
  cases.push_back(safetensors("D4_array", "[1]", 0, Kind::type, "an object"));
  cases.push_back(safetensors("D4_nul_padding", std::string("{}\0\0", 4), 0, Kind::json_trailing, "", "", 10));
  cases.push_back(safetensors("D4_byte_order_mark", "\xEF\xBB\xBF{}", 0, Kind::json_syntax, "byte order mark"));
  const std::string a = safetensors_entry("a", "U8", "[4]", "[0,4]");
  cases.push_back(safetensors("D5_a_tensor_twice", "{" + a + "," + safetensors_entry("a", "F32", "[1]", "[0,4]") + "}",
                              4, Kind::duplicate_key, "twice", "/a", 61));
  cases.push_back(
      safetensors("D5_metadata_twice", R"({"__metadata__":{},"__metadata__":{}})", 0, Kind::duplicate_key, "twice"));
  cases.push_back(safetensors("D5_a_field_twice",
                              R"({"a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
                              Kind::duplicate_key, "twice", "/a/dtype"));
  cases.push_back(
      safetensors("D6_metadata_a_number", R"({"__metadata__":{"a":1}})", 0, Kind::type, "a string", "/__metadata__/a"));
  cases.push_back(safetensors("D6_metadata_nested", R"({"__metadata__":{"a":{}}})", 0, Kind::type, "a string"));
  cases.push_back(
      safetensors("D6_metadata_a_string", R"({"__metadata__":"a"})", 0, Kind::type, "an object of strings"));
  cases.push_back(safetensors("D18_names",
                              "{" + safetensors_entry("constructor", "U8", "[1]", "[0,1]") + "," +
                                  safetensors_entry("__proto__", "U8", "[1]", "[1,2]") + "," +
                                  safetensors_entry("</script>\\u001b[2J", "U8", "[1]", "[2,3]") + "}",
                              3, {}, ""));
}

void add_safetensors_entries(Cases& cases) {
  cases.push_back(entry("D7_unknown_dtype", "NOTADTYPE", "[1]", "[0,4]", 4, {}, ""));
  cases.push_back(entry("D7_lower_case", "f32", "[1]", "[0,4]", 4, {}, ""));
  cases.push_back(safetensors("D7_no_dtype", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, Kind::missing_key,
                              "the field dtype", "/a"));
  cases.push_back(safetensors("D7_no_shape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, Kind::missing_key,
                              "the field shape", "/a"));
  cases.push_back(safetensors("D7_no_offsets", R"({"a":{"dtype":"F32","shape":[1]}})", 4, Kind::missing_key,
                              "the field data_offsets", "/a"));
  cases.push_back(safetensors("D7_extra_field", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":null}})", 1,
                              {}, "extra-field"));
  cases.push_back(safetensors("D7_no_object", R"({"a":[]})", 0, Kind::type, "a tensor's object", "/a"));
  cases.push_back(safetensors("D7_dtype_a_number", R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})", 1,
                              Kind::type, "a string", "/a/dtype"));
  cases.push_back(entry("D8_negative", "U8", "[-1]", "[0,1]", 1, Kind::out_of_range, "decimal digits", "/a/shape/0"));
  cases.push_back(entry("D8_float", "U8", "[1.0]", "[0,1]", 1, Kind::out_of_range, "decimal digits", "/a/shape/0"));
  cases.push_back(entry("D8_exponent", "U8", "[1e0]", "[0,1]", 1, Kind::out_of_range, "decimal digits"));
  cases.push_back(entry("D8_NaN", "U8", "[NaN]", "[0,1]", 1, Kind::out_of_range, "decimal digits"));
  cases.push_back(entry("D8_string", "U8", "[\"1\"]", "[0,1]", 1, Kind::type, "decimal digits"));
  cases.push_back(entry("D8_no_array", "U8", "1", "[0,1]", 1, Kind::type, "an array of sizes"));
  cases.push_back(
      entry("D8_2_53_and_1", "U8", "[9007199254740993]", "[0,1]", 1, Kind::length_mismatch, "9007199254740993 bytes"));
  cases.push_back(entry("D8_2_63", "U8", "[9223372036854775808]", "[0,1]", 1, Kind::out_of_range, "2^63"));
  std::string many = "[1";
  for (int i = 0; i < 32; ++i) many += ",1";
  cases.push_back(entry("D8_33_axes", "U8", many + "]", "[0,1]", 1, Kind::limit, "at most 32 axes", "/a/shape"));
  cases.push_back(entry("D9_reversed", "U8", "[1]", "[1,0]", 1, Kind::bad_offset, "not below", "/a/data_offsets"));
  cases.push_back(entry("D9_one", "U8", "[1]", "[1]", 1, Kind::bad_offset, "two offsets"));
  cases.push_back(entry("D9_three", "U8", "[1]", "[0,1,2]", 1, Kind::bad_offset, "two offsets"));
  cases.push_back(entry("D9_negative", "U8", "[1]", "[-1,0]", 1, Kind::out_of_range, "decimal digits"));
  cases.push_back(entry("D9_float", "U8", "[1]", "[0,1.0]", 1, Kind::out_of_range, "decimal digits"));
  cases.push_back(entry("D9_no_array", "U8", "[1]", "{}", 1, Kind::type, "two offsets"));
  cases.push_back(entry("D11_too_many_bytes", "F32", "[1]", "[0,8]", 8, Kind::length_mismatch, "4 bytes"));
  cases.push_back(entry("D11_too_few_bytes", "F32", "[1000000]", "[0,4]", 4, Kind::length_mismatch, "4000000 bytes"));
  cases.push_back(entry("D11_elements_wrap", "F32", "[4194305,4194305,211106198978564]", "[0,16]", 16, Kind::overflow,
                        "2^63 elements", "/a/shape"));
  cases.push_back(entry("D11_bytes_wrap", "F64", "[2,2305843009213693952]", "[0,0]", 0, Kind::overflow, "2^61"));
  cases.push_back(entry("D14_half_a_byte", "F4", "[3]", "[0,2]", 2, Kind::block_size, "whole bytes"));
  cases.push_back(entry("D14_f4", "F4", "[4]", "[0,2]", 2, {}, ""));
  cases.push_back(entry("D14_f6", "F6_E2M3", "[4]", "[0,3]", 3, {}, ""));
  cases.push_back(entry("D14_f8", "F8_E8M0", "[4]", "[0,4]", 4, {}, ""));
  cases.push_back(entry("D13_scalar", "F32", "[]", "[0,4]", 4, {}, ""));
}

void add_safetensors_places(Cases& cases) {
  const auto two = [&](std::string id, std::string_view first, std::string_view second, std::size_t data,
                       std::optional<Kind> kind, std::string fragment, std::string path) {
    cases.push_back(safetensors(
        std::move(id),
        "{" + safetensors_entry("a", "U8", "[4]", first) + "," + safetensors_entry("b", "U8", "[4]", second) + "}",
        data, kind, std::move(fragment), std::move(path)));
  };
  two("D10_overlap", "[0,4]", "[2,6]", 6, Kind::bad_offset, "overlap", "/b");
  two("D10_the_same", "[0,4]", "[0,4]", 4, Kind::bad_offset, "overlap", "/b");
  two("D10_hole_at_the_start", "[8,12]", "[4,8]", 12, Kind::bad_offset, "gap", "/b");
  two("D10_hole_between", "[0,4]", "[5,9]", 9, Kind::bad_offset, "gap", "/b");
  two("D10_trailing_bytes", "[0,4]", "[4,8]", 9, Kind::trailing_bytes, "1 more byte", "");
  two("D10_missing_bytes", "[0,4]", "[4,8]", 6, Kind::truncated, "8 bytes for the data", "");
  two("D10_any_order", "[4,8]", "[0,4]", 8, {}, "", "");
  cases.push_back(safetensors(
      "D12_empty_tensors",
      "{" + safetensors_entry("a", "F32", "[0]", "[0,0]") + "," + safetensors_entry("b", "U8", "[1]", "[0,1]") + "," +
          safetensors_entry("c", "F64", "[3,0]", "[1,1]") + "," + safetensors_entry("d", "F64", "[0,7]", "[1,1]") + "}",
      1, {}, ""));
  cases.push_back(entry("D11_far_away", "U8", "[2305843009213693951]", "[0,2305843009213693951]", 8, Kind::truncated,
                        "2305843009213693951 bytes"));
  cases.push_back(safetensors("D11_the_end_of_all_bytes",
                              "{" + safetensors_entry("a", "X", "[1]", "[0,9223372036854775807]") + "," +
                                  safetensors_entry("b", "U8", "[0]", "[9223372036854775807,9223372036854775807]") +
                                  "}",
                              8, Kind::truncated, "9223372036854775807 bytes"));
}

// ---- F: llama2.c ----

using Sizes = std::array<std::int64_t, 7>;

// Bytes of the numbers behind a version 0 header.
std::size_t llama2c_data(const Sizes& s) {
  const std::int64_t kv = s[0] / s[3] * s[4];
  const std::int64_t layer = 2 * s[0] + 2 * s[0] * s[0] + 2 * kv * s[0] + 3 * s[0] * s[1];
  const std::int64_t vocab = s[5] < 0 ? -2 * s[5] : s[5];
  return static_cast<std::size_t>(4 * (vocab * s[0] + s[2] * layer + s[0] + s[6] * (s[0] / s[3])));
}

constexpr Sizes kSmall{8, 6, 2, 2, 1, 5, 3};

TensorCase llama2c(std::string id, const Sizes& sizes, std::size_t data, std::optional<Kind> kind, std::string fragment,
                   std::string path = {}, std::int64_t offset = -1) {
  return {.id = std::move(id),
          .format = TensorFormat::llama2c,
          .make = [sizes, data] { return llama2c_header(sizes) + std::string(data, '\0'); },
          .kind = kind,
          .fragment = std::move(fragment),
          .path = std::move(path),
          .offset = offset};
}

void add_llama2c(Cases& cases) {
  const auto spoiled = [&](std::string id, std::size_t field, std::int64_t value, Kind kind, std::string fragment,
                           std::string path) {
    Sizes sizes = kSmall;
    sizes[field] = value;
    cases.push_back(llama2c(std::move(id), sizes, llama2c_data(kSmall), kind, std::move(fragment), std::move(path)));
  };
  cases.push_back(llama2c("F3_shared", kSmall, llama2c_data(kSmall), {}, ""));
  Sizes unshared = kSmall;
  unshared[5] = -unshared[5];
  cases.push_back(llama2c("F3_unshared", unshared, llama2c_data(unshared), {}, ""));
  cases.push_back({.id = "F1_27_bytes",
                   .format = TensorFormat::llama2c,
                   .make = [] { return llama2c_header(kSmall).substr(0, 27); },
                   .kind = Kind::truncated,
                   .fragment = "max_seq_len"});
  constexpr std::array<std::string_view, 7> kNames{"dim",        "hidden_dim", "n_layers",   "n_heads",
                                                   "n_kv_heads", "vocab_size", "max_seq_len"};
  for (std::size_t field = 0; field < kNames.size(); ++field) {
    const std::string name(kNames[field]);
    spoiled("F2_" + name + "_0", field, 0, Kind::out_of_range, "got 0", name);
    if (name != "vocab_size") spoiled("F2_" + name + "_negative", field, -1, Kind::out_of_range, "got -1", name);
  }
  spoiled("F2_vocab_INT_MIN", 5, INT32_MIN, Kind::truncated, "bytes, as the header's sizes say", "");
  spoiled("F4_heads", 3, 3, Kind::not_divisible, "the 3 heads", "dim");
  spoiled("F4_odd_head", 3, 8, Kind::not_divisible, "even multiple", "dim");
  spoiled("F4_kv_heads", 4, 3, Kind::not_divisible, "a divisor of the 2 heads", "n_kv_heads");
  spoiled("F4_more_kv_heads", 4, 4, Kind::not_divisible, "a divisor", "n_kv_heads");
  constexpr std::int64_t kMost = INT32_MAX - 1;
  cases.push_back(llama2c("F5_products_wrap", {kMost, kMost, kMost, 1, 1, kMost, kMost}, 64, Kind::overflow, "2^63"));
  cases.push_back(llama2c("F5_many_layers", {2, 1, kMost, 1, 1, 1, 1}, 64, Kind::truncated, "header's sizes say"));
  cases.push_back(llama2c("F6_too_short", kSmall, llama2c_data(kSmall) - 1, Kind::truncated, "header's sizes say"));
  cases.push_back(llama2c("F9_too_long", kSmall, llama2c_data(kSmall) + 1, Kind::trailing_bytes, "header's sizes say"));
  // A group of 8 divides every matrix of kSmall.
  const auto version2 = [&](std::string id, std::int64_t group, std::size_t data, std::optional<Kind> kind,
                            std::string fragment, std::string path = {}) {
    cases.push_back({.id = std::move(id),
                     .format = TensorFormat::llama2c,
                     .make = [group, data] { return llama2c_version_2(kSmall, group) + std::string(data, '\0'); },
                     .kind = kind,
                     .fragment = std::move(fragment),
                     .path = std::move(path)});
  };
  constexpr std::size_t kQuantised = 4 * (2 * 16 + 8) + 712 + 4 * 89;  // norms, matrices, scales
  version2("F8_groups", 8, kQuantised, {}, "");
  version2("F8_group_of_0", 0, kQuantised, Kind::out_of_range, "1 or more, got 0", "group_size");
  version2("F8_group_of_less", -8, kQuantised, Kind::out_of_range, "got -8", "group_size");
  version2("F8_group_that_divides_some", 16, kQuantised, Kind::not_divisible,
           "a divisor of the 40 elements of tok_embeddings.weight, got 16", "group_size");
  version2("F8_group_that_divides_none", INT32_MAX, kQuantised, Kind::not_divisible, "a divisor", "group_size");
  version2("F8_too_short", 8, kQuantised - 1, Kind::truncated, "header's sizes say");
  version2("F8_too_long", 8, kQuantised + 1, Kind::trailing_bytes, "header's sizes say");
  for (const std::uint32_t version : {0U, 3U, 0xFFFFFFFFU}) {
    cases.push_back({.id = "F7_version_" + std::to_string(version),
                     .format = TensorFormat::llama2c,
                     .make = [version] { return "24ka" + little(version, 4) + llama2c_header(kSmall); },
                     .kind = Kind::unsupported_version,
                     .fragment = std::to_string(version),
                     .offset = 4});
  }
}

// ---- G: .npz ----

const std::string kArray = npy_bytes(kGood, kFour);

TensorCase npz(std::string id, const std::string& bytes, std::optional<Kind> kind, std::string fragment,
               std::string path = {}) {
  return {.id = std::move(id),
          .format = TensorFormat::npz,
          .make = [bytes] { return bytes; },
          .kind = kind,
          .fragment = std::move(fragment),
          .path = std::move(path)};
}

void add_npz(Cases& cases) {
  const auto add = [&](std::string id, const std::vector<ZipMember>& members, std::optional<Kind> kind,
                       std::string fragment, std::string path = {}, std::int64_t more = 0) {
    cases.push_back(npz(std::move(id), zip_bytes(members, more), kind, std::move(fragment), std::move(path)));
  };
  const ZipMember good{.name = "a.npy", .data = kArray};
  add("G1_none", {}, {}, "");
  add("G1_two", {good, {.name = "b/c.npy", .data = kArray, .in_64_bits = true}}, {}, "");
  add("G2_deflated", {{.name = "a.npy", .data = kArray, .method = 8}}, Kind::bad_type, "compressed by method 8",
      "a.npy");
  add("G2_encrypted", {{.name = "a.npy", .data = kArray, .flags = 1}}, Kind::bad_type, "an encrypted one", "a.npy");
  add("G3_twice", {good, good}, Kind::duplicate_key, "twice", "a.npy");
  add("G3_another_name", {{.name = "a.npy", .data = kArray, .own_name = "b.npy"}}, Kind::bad_value, "b.npy", "a.npy");
  add("G4_no_array", {good, {.name = "a.txt", .data = "text"}}, {}, "not-an-array");
  add("G4_no_npy", {{.name = "a.npy", .data = "text and more text"}}, Kind::wrong_format, "magic", "a.npy");
  add("G4_object", {{.name = "a.npy", .data = npy_bytes(npy_dict("|O", "(1,)"), kFour)}}, Kind::bad_type,
      "never loaded", "a.npy/descr");
  add("G5_longer_than_the_array", {{.name = "a.npy", .data = kArray + "more"}}, {}, "trailing-bytes");
  add("G5_shorter_than_the_array", {{.name = "a.npy", .data = kArray.substr(0, kArray.size() - 1)}}, Kind::truncated,
      "a member of", "a.npy");
  add("G5_beyond_the_file", {{.name = "a.npy", .data = kArray, .more_bytes = 1000}}, Kind::truncated, "bytes", "a.npy");
  add("G6_more_members_than_bytes", {good}, Kind::count_too_large, "room for", "", 9);
  add("G6_fewer_members", {good, {.name = "b.npy", .data = kArray}}, Kind::bad_offset, "directory's end", "", -1);
  const std::string whole = zip_bytes(std::vector{good});
  cases.push_back(npz("G7_comment", whole.substr(0, whole.size() - 2) + little(3, 2) + "abc", Kind::truncated,
                      "without a comment"));
  cases.push_back(npz("G7_place_beyond", whole.substr(0, whole.size() - 6) + little(1U << 30U, 4) + little(0, 2),
                      Kind::bad_offset, "ends here"));
  // One member, whose directory's numbers stand in 64 bits alone: its entry of 46 bytes and the name.
  const std::string before_end = whole.substr(0, whole.size() - 22);
  const std::size_t directory_bytes = 46 + 5;
  const std::string end_in_64_bits = "PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4) +
                                     little(0, 4) + little(1, 8) + little(1, 8) + little(directory_bytes, 8) +
                                     little(before_end.size() - directory_bytes, 8);
  cases.push_back(npz("G1_end_in_64_bits",
                      before_end + end_in_64_bits + "PK\x06\x07" + little(0, 4) + little(before_end.size(), 8) +
                          little(1, 4) + "PK\x05\x06" + little(0, 4) + little(0xFFFF, 2) + little(0xFFFF, 2) +
                          little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4) + little(0, 2),
                      {}, ""));
  // The entry's place stands behind 42 of its bytes; the directory, 46 and the name, before the last 22.
  std::string far = whole;
  far.replace(whole.size() - 22 - 46 - 5 + 42, 4, little(1U << 30U, 4));
  cases.push_back(npz("G7_member_beyond", far, Kind::bad_offset, "within the file"));
  cases.push_back(npz("G7_64_bit_end_beyond",
                      kArray + "PK\x06\x07" + little(0, 4) + little(1ULL << 62U, 8) + little(1, 4) + "PK\x05\x06" +
                          little(0, 4) + little(0xFFFF, 2) + little(0xFFFF, 2) + little(0, 8) + little(0, 2),
                      Kind::bad_offset, "within the file"));
}

// ---- C: tensors of GGUF; the rest of its header is tests/hostile's ----

TensorCase gguf(std::string id, const std::vector<GgufBuilder::Tensor>& tensors, std::optional<Kind> kind,
                std::string fragment, std::string path = {}) {
  return {.id = std::move(id),
          .format = TensorFormat::gguf,
          .make =
              [tensors] {
                GgufBuilder file;
                for (const GgufBuilder::Tensor& tensor : tensors) file.tensor(tensor);
                return file.bytes();
              },
          .kind = kind,
          .fragment = std::move(fragment),
          .path = std::move(path)};
}

void add_gguf(Cases& cases) {
  constexpr std::uint64_t k2To32 = std::uint64_t{1} << 32U;
  const GgufBuilder::Tensor good{.name = "a", .shape = {1}, .data = kFour};
  cases.push_back(gguf("C21_twice", {good, good}, Kind::bad_tensor, "twice"));
  cases.push_back(gguf("C21_nul_in_a_name", {{.name = std::string("a\0b", 3), .shape = {1}, .data = kFour}},
                       Kind::bad_tensor, "control characters"));
  cases.push_back(gguf("C21_no_name", {{.name = "", .shape = {1}, .data = kFour}}, {}, "tensor-name"));
  cases.push_back(gguf("C22_scalar", {{.name = "a", .shape = {}, .data = kFour}}, {}, ""));
  cases.push_back(gguf("C22_5_axes", {{.name = "a", .shape = {1, 1, 1, 1, 1}, .data = kFour}}, Kind::bad_tensor,
                       "at most 4 dimensions", "a"));
  cases.push_back(
      gguf("C23_2_63", {{.name = "a", .shape = {k2To32 << 31U}, .data = kFour}}, Kind::out_of_range, "2^63 - 1", "a"));
  cases.push_back(gguf("C23_empty", {{.name = "e", .shape = {3, 0}}, good}, {}, ""));
  cases.push_back(gguf("C24_product_wraps", {{.name = "a", .shape = {k2To32, k2To32}}}, Kind::overflow, "2^63", "a"));
  cases.push_back(gguf("C24_bytes_wrap", {{.name = "a", .shape = {k2To32 << 30U}}}, Kind::overflow, "2^63 bytes", "a"));
  cases.push_back(gguf("C24_beyond_the_file", {{.name = "a", .shape = {1000}, .data = kFour}}, Kind::truncated,
                       "the weights are not"));
  cases.push_back(gguf("C25_block", {{.name = "a", .shape = {33}, .type = 8, .data = std::string(68, 'q')}},
                       Kind::block_size, "multiple of 32", "a"));
  cases.push_back(gguf("C26_removed_type", {{.name = "a", .shape = {32}, .type = 4, .data = kFour}}, {}, ""));
  cases.push_back(gguf("C27_overlap", {good, {.name = "b", .shape = {1}, .offset = 0, .data = kFour}}, Kind::bad_offset,
                       "where the one before ends", "b"));
  cases.push_back(gguf("C27_gap", {good, {.name = "b", .shape = {1}, .offset = 64, .data = kFour}}, Kind::bad_offset,
                       "where the one before ends", "b"));
  cases.push_back(gguf("C27_unaligned",
                       {{.name = "a", .shape = {1}, .type = 99, .data = kFour},
                        {.name = "b", .shape = {1}, .offset = 33, .data = kFour}},
                       Kind::bad_offset, "alignment", "b"));
}

}  // namespace

std::vector<TensorCase> tensor_cases() {
  Cases cases;
  add_npy_headers(cases);
  add_npy_types(cases);
  add_npy_shapes(cases);
  add_safetensors_headers(cases);
  add_safetensors_entries(cases);
  add_safetensors_places(cases);
  add_llama2c(cases);
  add_npz(cases);
  add_gguf(cases);
  return cases;
}

}  // namespace posenc::test
