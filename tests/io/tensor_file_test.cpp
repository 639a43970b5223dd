// Reading files of tensors: what the values are, and where they lie. Bad files: tensor_cases.cpp. Against NumPy,
// safetensors and gguf: tensor_oracles.py. Files of other people: published_tensors_test.cpp.
#include "posenc/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "io/files/mapped_file.h"
#include "support/gguf_builder.h"
#include "support/heap_probe.h"
#include "support/temporary_folder.h"
#include "support/tensor_bytes.h"
#include "support/throws.h"

namespace posenc::tensor_file_test {
namespace {

using test::bytes_of;
using test::llama2c_header;
using test::npy_bytes;
using test::npy_dict;
using test::safetensors_bytes;
using test::safetensors_entry;
using testing::ElementsAre;

TensorFile opened(const std::string& bytes, const TensorFileOptions& options = {}) {
  Result<TensorFile> file = open_tensor_file(bytes_of(bytes), "x", options);
  if (!file) throw std::runtime_error(file.error().message());
  return std::move(*file);
}

template <typename T>
std::vector<T> values(const TensorData& data) {
  std::vector<T> out(data.bytes().size() / sizeof(T));
  std::memcpy(out.data(), data.bytes().data(), data.bytes().size());
  return out;
}

std::string reversed_each(std::string bytes, std::size_t unit) {
  for (std::size_t at = 0; at < bytes.size(); at += unit) std::reverse(bytes.data() + at, bytes.data() + at + unit);
  return bytes;
}

// As files have them: little-endian.
template <typename T>
std::string raw(std::initializer_list<T> numbers) {
  const std::string own(reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(T));
  return test::kIsBigEndian ? reversed_each(own, sizeof(T)) : own;
}

// An element's bytes, little-endian.
std::string little_endian(const TensorData& data, std::size_t unit) {
  const std::string own(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size());
  return test::kIsBigEndian ? reversed_each(own, unit) : own;
}

TEST(Npy, GivesItsElements) {
  const std::string bytes = npy_bytes(npy_dict("<f4", "(2, 3)"), raw({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}));
  const TensorFile file = opened(bytes);
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].type_name, "<f4");
  EXPECT_EQ(file.tensors()[0].offset, static_cast<std::int64_t>(bytes.size()) - 24);
  const TensorData data = *file.read(0);
  const ConstTensorView view = data.view();
  EXPECT_EQ(view, tensor(static_cast<const float*>(view.data), {2, 3}));
  EXPECT_THAT(values<float>(data), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 64, 0u);
}

TEST(Npy, InFortranOrderTheFirstAxisIsTheFastest) {
  const std::string bytes = npy_bytes(npy_dict("<i2", "(2, 3, 4)", "True"), std::string(48, 'x'));
  EXPECT_THAT(opened(bytes).tensors()[0].strides, ElementsAre(1, 2, 6));
}

TEST(Npy, EachVersionSaysTheSame) {
  for (const int version : {1, 2, 3}) {
    const std::string bytes = npy_bytes(npy_dict("<f8", "(1,)"), raw({0.1}), version);
    EXPECT_THAT(values<double>(*opened(bytes).read(0)), ElementsAre(0.1)) << version;
  }
}

TEST(Npy, ByteOrderIsTurnedRound) {
  const auto read = [](std::string_view descr, const std::string& data) {
    return *opened(npy_bytes(npy_dict(descr, "(2,)"), data)).read(0);
  };
  EXPECT_THAT(values<std::int16_t>(read(">i2", reversed_each(raw<std::int16_t>({1, -2}), 2))), ElementsAre(1, -2));
  EXPECT_THAT(values<float>(read(">f4", reversed_each(raw({1.5F, -2.0F}), 4))), ElementsAre(1.5F, -2.0F));
  EXPECT_THAT(values<double>(read(">f8", reversed_each(raw({0.1, 0.2}), 8))), ElementsAre(0.1, 0.2));
  // Each half of a complex number by itself.
  EXPECT_THAT(values<float>(read(">c8", reversed_each(raw({1.0F, 2.0F, 3.0F, 4.0F}), 4))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values<double>(read(">c16", reversed_each(raw({1.0, 2.0, 3.0, 4.0}), 8))), ElementsAre(1, 2, 3, 4));
}

TEST(Npy, Bf16OnlyWhenTheCallerSaysSo) {
  const auto type = [](std::string_view descr, bool raw16_is_bf16) {
    return opened(npy_bytes(npy_dict(descr, "(1,)"), "ab"), {.raw16_is_bf16 = raw16_is_bf16}).tensors()[0].type;
  };
  EXPECT_EQ(type("<V2", true), ElementType::bf16);
  EXPECT_EQ(type("<u2", true), ElementType::bf16);
  EXPECT_EQ(type("<u2", false), ElementType::u16);
  EXPECT_EQ(type("<i2", true), ElementType::i16);
  EXPECT_THROW(type("<V2", false), std::runtime_error);
}

TEST(TensorData, ViewsWhatViewsCanSay) {
  const TensorData scalar = *opened(npy_bytes(npy_dict("<f4", "()"), raw({7.0F}))).read(0);
  EXPECT_EQ(scalar.view().rank, 1);
  EXPECT_EQ(scalar.view().shape[0], 1);
  EXPECT_TRUE(scalar.shape().empty());
  const TensorData empty = *opened(npy_bytes(npy_dict("<f2", "(3, 0)"))).read(0);
  EXPECT_EQ(empty.view().shape[1], 0);
  EXPECT_TRUE(empty.owned());
  EXPECT_ERROR(opened(npy_bytes(npy_dict("<i4", "(1,)"), "abcd")).read(0)->view(),
               "[TensorData] type must be f64, f32, f16 or bf16 but is i32");
  EXPECT_ERROR(opened(npy_bytes(npy_dict("<f4", "(1,1,1,1,1)"), "abcd")).read(0)->view(),
               "[TensorData] rank must be at most 4 but is 5");
  EXPECT_ERROR((void)opened(npy_bytes(npy_dict("<f4", "(1,)"), "abcd")).read(1),
               "[TensorFile::read] index must be at least 0 and below 1 but is 1");
}

// Data at a multiple of 8 bytes.
std::string two_tensors() {
  std::string header = R"({"__metadata__":{"format":"pt"},)" + safetensors_entry("b", "F32", "[2]", "[0,8]") + "," +
                       safetensors_entry("a", "BF16", "[1,2]", "[8,12]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return safetensors_bytes(header, raw({1.0F, 2.0F}) + "abcd");
}
const std::string kTwo = two_tensors();

TEST(Safetensors, GivesTensorsByNameInTheOrderOfTheirData) {
  const TensorFile file = opened(kTwo);
  EXPECT_EQ(file.format(), TensorFormat::safetensors);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.tensors()[1].type, ElementType::bf16);
  EXPECT_EQ(file.find("a"), &file.tensors()[1]);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.find(""), nullptr);
  EXPECT_THAT(values<float>(*file.read("b")), ElementsAre(1, 2));
  EXPECT_EQ(little_endian(*file.read("a"), 2), "abcd");
  const Result<TensorData> none = file.read("c");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::missing_key);
  EXPECT_EQ(none.error().message(), "x: c: expected a tensor of that name, got none among 2");
}

TEST(Safetensors, AnUnknownTypeIsListedAndNotRead) {
  const TensorFile file = opened(safetensors_bytes("{" + safetensors_entry("a", "I2", "[5]", "[0,2]") + "}", "ab"));
  EXPECT_EQ(file.tensors()[0].type, ElementType::other);
  EXPECT_EQ(file.tensors()[0].type_name, "I2");
  EXPECT_THAT(file.tensors()[0].shape, ElementsAre(5));
  EXPECT_EQ(file.read(0).error().kind, ErrorKind::bad_type);
}

TEST(Gguf, GivesItsTensorsTheSlowestAxisFirst) {
  for (const bool big : {false, true}) {
    const auto stored = [&](const std::string& data, std::size_t unit) {
      return big ? reversed_each(data, unit) : data;
    };
    const std::string bytes = test::GgufBuilder(3, big)
                                  .tensor({.name = "f32", .shape = {3, 2}, .data = std::string(24, '\0')})
                                  .floats("x", {1.5F, -2.0F})
                                  .tensor({.name = "f16", .shape = {2}, .type = 1, .data = stored("abcd", 2)})
                                  .tensor({.name = "bf16", .shape = {1}, .type = 30, .data = stored("ef", 2)})
                                  .tensor({.name = "i64", .shape = {1}, .type = 27, .data = stored("01234567", 8)})
                                  .tensor({.name = "q8", .shape = {32}, .type = 8, .data = std::string(34, 'q')})
                                  .bytes();
    const TensorFile file = opened(bytes);
    EXPECT_EQ(file.format(), TensorFormat::gguf);
    EXPECT_THAT(file.find("f32")->shape, ElementsAre(2, 3));
    EXPECT_THAT(values<float>(*file.read("x")), ElementsAre(1.5F, -2.0F));
    EXPECT_EQ(little_endian(*file.read("f16"), 2), "abcd");
    EXPECT_EQ(file.find("bf16")->type, ElementType::bf16);
    EXPECT_EQ(little_endian(*file.read("bf16"), 2), "ef");
    EXPECT_EQ(little_endian(*file.read("i64"), 8), "01234567");
    EXPECT_EQ(file.find("q8")->type_name, "Q8_0");
    EXPECT_EQ(file.find("q8")->bytes, 34);
    EXPECT_EQ(file.read("q8").error().message(),
              "x: byte " + std::to_string(file.find("q8")->offset) +
                  ": q8: expected elements of a type that can be read, got Q8_0 (quantised blocks are listed, not "
                  "read)");
  }
}

// dim 4, hidden 3, 2 layers, 2 heads, 1 kv head, vocabulary 5, length 2; numbers are their own index.
std::string llama2c_file(const std::string& header, std::size_t numbers) {
  std::string out = header;
  for (std::size_t i = 0; i < numbers; ++i) out += raw({static_cast<float>(i)});
  return out;
}

std::string names_of(const TensorFile& file) {
  std::string names;
  for (const TensorEntry& entry : file.tensors()) names += entry.name + " ";
  return names;
}

TEST(Llama2c, Version0) {
  // Embedding 20; a layer: norms 4 + 4, wq wo 16, wk wv 8, w1 w2 w3 12 = 92; norm 4; tables 2 x 2; classifier 20.
  const std::string shared = llama2c_file(llama2c_header({4, 3, 2, 2, 1, 5, 2}), 20 + 2 * 92 + 4 + 4);
  const TensorFile file = opened(shared);
  EXPECT_EQ(file.format(), TensorFormat::llama2c);
  EXPECT_EQ(file.tensors().size(), 2u * 9 + 4);
  EXPECT_EQ(file.find("output.weight"), nullptr);
  const auto first = [&](std::string_view name) { return values<float>(*file.read(name)).front(); };
  EXPECT_EQ(first("tok_embeddings.weight"), 0);
  EXPECT_EQ(first("layers.1.attention_norm.weight"), 24);
  EXPECT_EQ(first("layers.0.attention.wq.weight"), 28);
  EXPECT_EQ(first("layers.0.attention.wk.weight"), 60);
  EXPECT_EQ(first("layers.1.attention.wv.weight"), 84);
  EXPECT_EQ(first("layers.0.attention.wo.weight"), 92);
  EXPECT_EQ(first("layers.0.ffn_norm.weight"), 124);
  EXPECT_EQ(first("layers.1.feed_forward.w2.weight"), 168);
  EXPECT_EQ(first("norm.weight"), 204);
  EXPECT_EQ(first("freqs_cos"), 208);
  EXPECT_EQ(first("freqs_sin"), 210);
  EXPECT_THAT(file.find("layers.0.attention.wk.weight")->shape, ElementsAre(2, 4));
  EXPECT_THAT(file.find("layers.0.feed_forward.w2.weight")->shape, ElementsAre(4, 3));
  EXPECT_THAT(file.find("freqs_sin")->shape, ElementsAre(2, 1));
  const TensorFile unshared = opened(llama2c_file(llama2c_header({4, 3, 2, 2, 1, -5, 2}), 20 + 2 * 92 + 4 + 4 + 20));
  EXPECT_EQ(unshared.tensors().back().name, "output.weight");
}

TEST(Llama2c, Version1HasItsNormsFirst) {
  std::string header = "24ka" + test::little(1, 4) + llama2c_header({4, 3, 1, 2, 1, 5, 2}) + '\1';
  header.resize(256, '\0');
  const std::string bytes = llama2c_file(header, 4 + 4 + 4 + 20 + 84);
  const TensorFile file = opened(bytes);
  EXPECT_EQ(names_of(file),
            "layers.0.attention_norm.weight layers.0.ffn_norm.weight norm.weight tok_embeddings.weight "
            "layers.0.attention.wq.weight layers.0.attention.wk.weight layers.0.attention.wv.weight "
            "layers.0.attention.wo.weight layers.0.feed_forward.w1.weight layers.0.feed_forward.w2.weight "
            "layers.0.feed_forward.w3.weight ");
  EXPECT_EQ(file.tensors()[0].offset, 256);
  EXPECT_EQ(values<float>(*file.read("tok_embeddings.weight")).front(), 12);
}

// As export.py does it: a matrix is int8, and the scales of all of them follow all of them.
TEST(Llama2c, Version2HasGroupsAndTheirScales) {
  constexpr std::int64_t kGroup = 4;
  std::string bytes = test::llama2c_version_2({4, 3, 1, 2, 1, 5, 2}, kGroup);
  bytes = llama2c_file(bytes, 4 + 4 + 4);
  // Embedding 20, wq 16, wk wv 8, wo 16, w1 w2 w3 12.
  for (int i = 0; i < 104; ++i) bytes += static_cast<char>(i - 52);
  bytes = llama2c_file(bytes, 104 / kGroup);
  const TensorFile file = opened(bytes);
  EXPECT_EQ(names_of(file),
            "layers.0.attention_norm.weight layers.0.ffn_norm.weight norm.weight tok_embeddings.weight "
            "layers.0.attention.wq.weight layers.0.attention.wk.weight layers.0.attention.wv.weight "
            "layers.0.attention.wo.weight layers.0.feed_forward.w1.weight layers.0.feed_forward.w2.weight "
            "layers.0.feed_forward.w3.weight tok_embeddings.weight.scale layers.0.attention.wq.weight.scale "
            "layers.0.attention.wk.weight.scale layers.0.attention.wv.weight.scale "
            "layers.0.attention.wo.weight.scale layers.0.feed_forward.w1.weight.scale "
            "layers.0.feed_forward.w2.weight.scale layers.0.feed_forward.w3.weight.scale ");
  EXPECT_EQ(values<float>(*file.read("norm.weight")).front(), 8);
  const TensorEntry& wk = *file.find("layers.0.attention.wk.weight");
  EXPECT_EQ(wk.type, ElementType::i8);
  EXPECT_EQ(wk.type_name, "int8");
  EXPECT_THAT(wk.shape, ElementsAre(2, 4));
  EXPECT_THAT(values<std::int8_t>(*file.read(wk.name)), ElementsAre(-16, -15, -14, -13, -12, -11, -10, -9));
  EXPECT_THAT(values<float>(*file.read("layers.0.attention.wk.weight.scale")), ElementsAre(9, 10));
  // Rows of 3: the second group is the end of one row and the beginning of the next.
  EXPECT_THAT(values<float>(*file.read("layers.0.feed_forward.w2.weight.scale")), ElementsAre(20, 21, 22));
}

// ---- files ----

TEST(TensorFiles, AreReadOrMapped) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x.safetensors", kTwo);
  const Result<TensorFile> read = open_tensor_file(path);
  const Result<TensorFile> mapped = open_tensor_file(path, {.access = DataAccess::map});
  ASSERT_TRUE(read.ok() && mapped.ok());
  for (const char* name : {"a", "b"}) {
    const TensorData copy = *read->read(name);
    TensorData seen = *mapped->read(name);
    EXPECT_TRUE(copy.owned());
    EXPECT_EQ(values<char>(copy), values<char>(seen));
  }
  TensorData a = *mapped->read("a");
  EXPECT_EQ(a.owned(), test::kIsBigEndian);
  if (!a.owned()) {
    EXPECT_ERROR(a.mutable_view(), "[TensorData] data must be owned to be changed but is mapped");
  }
  TensorData own = *read->read("b");
  *static_cast<float*>(own.mutable_view().data) = 9;
  EXPECT_THAT(values<float>(own), ElementsAre(9, 2));
  EXPECT_THAT(values<float>(*read->read("b")), ElementsAre(1, 2));
}

TEST(TensorFiles, WhatCannotBeUsedAsItLiesIsCopied) {
  const test::TemporaryFolder folder;
  const auto owned = [&](const std::string& bytes) {
    return open_tensor_file(folder.file("x", bytes), {.access = DataAccess::map})->read(0)->owned();
  };
  const auto padded = [](std::string header, std::size_t to) {  // data at 10 + to
    header.resize(to, ' ');
    return header;
  };
  EXPECT_EQ(owned(npy_bytes(padded(npy_dict("<f4", "(1,)"), 70), "abcd")), test::kIsBigEndian);
  EXPECT_TRUE(owned(npy_bytes(padded(npy_dict("<f4", "(1,)"), 71), "abcd")));
  EXPECT_EQ(owned(npy_bytes(padded(npy_dict(">f4", "(1,)"), 70), "abcd")), !test::kIsBigEndian);
  EXPECT_FALSE(owned(npy_bytes(padded(npy_dict("|i1", "(4,)"), 71), "abcd")));
}

TEST(TensorFiles, MemoryIsLookedAtWhenAskedFor) {
  const std::string bytes = npy_bytes(npy_dict("|u1", "(4,)"), "abcd");
  const TensorFile file = opened(bytes, {.access = DataAccess::map});
  EXPECT_EQ(static_cast<const void*>(file.read(0)->bytes().data()), bytes.data() + bytes.size() - 4);
  EXPECT_TRUE(opened(kTwo).read("a")->owned());
}

TEST(TensorFiles, A8AFileThatShrinksIsAnError) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x.safetensors", kTwo);
  const Result<TensorFile> file = open_tensor_file(path);
  std::filesystem::resize_file(path, kTwo.size() - 2);
  ASSERT_TRUE(file->read("b").ok());
  const Result<TensorData> a = file->read("a");
  ASSERT_FALSE(a.ok());
  EXPECT_EQ(a.error().kind, ErrorKind::io_read);
  EXPECT_EQ(a.error().path, "a");
  EXPECT_EQ(a.error().offset, static_cast<std::int64_t>(kTwo.size()) - 2);
}

TEST(TensorFiles, A9AFileThatShrankIsNotMapped) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x", "0123456789");
  const Result<io::RegularFile> file = io::RegularFile::open(path);
  ASSERT_TRUE(io::MappedFile::map(*file).ok());
  std::filesystem::resize_file(path, 5);
  const Result<io::MappedFile> mapped = io::MappedFile::map(*file);
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().kind, ErrorKind::io_read);
  EXPECT_EQ(mapped.error().got, "5: the file changed since it was opened");
}

TEST(TensorFiles, A11OfASparseGiantOnlyTheHeaderIsRead) {
  const test::TemporaryFolder folder;
  const std::string header = npy_bytes(npy_dict("|u1", "(1099511627776,)"));
  const std::filesystem::path path = folder.file("x.npy", header);
  std::error_code failed;
  std::filesystem::resize_file(path, header.size() + (std::uintmax_t{1} << 40U), failed);
  if (failed) GTEST_SKIP() << "needs a file system with sparse files of 1 TiB";
  const test::HeapProbe probe;
  const Result<TensorFile> file = open_tensor_file(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_LT(probe.peak_growth(), 1 << 20);
  EXPECT_EQ(file->tensors()[0].bytes, std::int64_t{1} << 40);
}

TEST(TensorFiles, ReadTensorWantsANameWhereThereAreSeveral) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x.safetensors", kTwo);
  EXPECT_EQ(read_tensor(path).error().detail, "the file has 2 tensors");
  EXPECT_TRUE(read_tensor(path, "a")->owned());
  EXPECT_TRUE(read_tensor(path, "a", {.access = DataAccess::map})->owned());
  EXPECT_TRUE(read_tensor(folder.file("x.npy", npy_bytes(npy_dict("<f4", "(1,)"), "abcd"))).ok());
  EXPECT_EQ(read_tensor(folder.path() / "none").error().kind, ErrorKind::io_open);
  EXPECT_EQ(read_tensor(folder.path()).error().kind, ErrorKind::not_regular_file);
}

}  // namespace
}  // namespace posenc::tensor_file_test
