#include "io/tensor_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "support/gguf_builder.h"
#include "support/heap_probe.h"
#include "support/tensor_bytes.h"

namespace posenc::test::tensor_cases_test {
namespace {

class HostileTensors : public testing::TestWithParam<TensorCase> {};

Result<TensorFile> open_bounded(const std::string& bytes, const TensorFileOptions& options) {
  const HeapProbe probe;
  Result<TensorFile> file = open_tensor_file(bytes_of(bytes), "hostile", options);
  EXPECT_LE(probe.peak_growth(), file_heap_bound(static_cast<std::int64_t>(bytes.size())));
  return file;
}

void expect_sound(const FileError& error, std::size_t size) {
  const std::string message = error.message();
  EXPECT_EQ(error.file, "hostile") << message;
  EXPECT_FALSE(error.expected.empty()) << message;
  EXPECT_LT(message.size(), 1000u);
  EXPECT_LE(error.offset, static_cast<std::int64_t>(size)) << message;
  EXPECT_TRUE(std::ranges::none_of(message, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) << message;
}

TEST_P(HostileTensors, ComesToItsOutcome) {
  const TensorCase& c = GetParam();
  const std::string bytes = c.make();
  const Result<TensorFile> file = open_bounded(bytes, {.format = c.format, .raw16_is_bf16 = c.raw16_is_bf16});
  if (!c.kind) {
    ASSERT_TRUE(file.ok()) << file.error().message();
    const auto same = [&](const Warning& warning) { return warning.code == c.fragment; };
    EXPECT_EQ(std::ranges::any_of(file->warnings(), same), !c.fragment.empty());
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const Result<TensorData> data = file->read(static_cast<std::int64_t>(i));
      EXPECT_EQ(data.ok(), file->tensors()[i].type != ElementType::other);
    }
    return;
  }
  ASSERT_FALSE(file.ok());
  const FileError& error = file.error();
  expect_sound(error, bytes.size());
  EXPECT_EQ(name(error.kind), name(*c.kind)) << error.message();
  EXPECT_NE(error.message().find(c.fragment), std::string::npos) << error.message();
  EXPECT_TRUE(c.path.empty() || error.path == c.path) << error.message();
  EXPECT_TRUE(c.offset < 0 || error.offset == c.offset) << error.message();
}

INSTANTIATE_TEST_SUITE_P(DEF, HostileTensors, testing::ValuesIn(tensor_cases()), [](const auto& row) {
  std::string id = row.param.id + "_" + std::to_string(row.index);
  std::ranges::replace_if(
      id, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return id;
});

// ---- A: files that end early ----

struct Whole {
  TensorFormat format;
  std::string bytes;
};

std::vector<Whole> whole_files() {
  const std::string eight(8, 'x');
  return {
      {TensorFormat::npy, npy_bytes(npy_dict("<f4", "(2,)"), eight)},
      {TensorFormat::npz, zip_bytes(std::vector{ZipMember{"a.npy", npy_bytes(npy_dict("<f4", "(2,)"), eight)}})},
      {TensorFormat::safetensors, safetensors_bytes("{" + safetensors_entry("a", "F32", "[2]", "[0,8]") + "}", eight)},
      {TensorFormat::gguf, GgufBuilder().floats("a", {1, 2}).bytes()},
      {TensorFormat::llama2c, llama2c_header({2, 1, 1, 1, 1, 1, 1}) + std::string(4 * (2 + 26 + 2 + 2), 'x')}};
}

TEST(HostileTensorCuts, A6A7EveryPrefixIsAnError) {
  for (const Whole& whole : whole_files()) {
    SCOPED_TRACE(name(whole.format));
    const Result<TensorFile> file = open_tensor_file(bytes_of(whole.bytes), "hostile");
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->format(), whole.format);
    for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
      const std::string cut = whole.bytes.substr(0, size);
      const Result<TensorFile> part = open_bounded(cut, {.format = whole.format});
      ASSERT_FALSE(part.ok()) << size;
      const ErrorKind kind = part.error().kind;  // GGUF counts what could still come
      EXPECT_TRUE(kind == ErrorKind::truncated || kind == ErrorKind::count_too_large) << part.error().message();
      EXPECT_FALSE(open_bounded(cut, {}).ok()) << size;
    }
  }
}

TEST(HostileTensorCuts, A17A18AreToldByTheirBytes) {
  const auto says = [](const std::string& bytes, std::string_view name = "x") {
    const Result<TensorFile> file = open_tensor_file(bytes_of(bytes), name);
    return file ? std::string() : file.error().message();
  };
  const std::string zeros(40, '\0');
  EXPECT_NE(says("PK\x03\x04" + zeros).find("a zip archive"), std::string::npos);
  EXPECT_NE(says("PK\x03\x04" + zeros, "x.npy").find("a zip archive"), std::string::npos);
  EXPECT_NE(says("\x80\x02" + zeros).find("a Python pickle"), std::string::npos);
  EXPECT_NE(says("version https://git-lfs.github.com/spec/v1\n").find("Git LFS pointer"), std::string::npos);
  EXPECT_NE(says("").find("no bytes"), std::string::npos);
  EXPECT_NE(says(zeros).find("none of them"), std::string::npos);
  EXPECT_NE(says(zeros, "x.npy").find("magic"), std::string::npos);
  EXPECT_NE(says(zeros, "x.gguf").find("magic"), std::string::npos);
  EXPECT_NE(says(zeros, "x.safetensors").find("2 bytes or more"), std::string::npos);
  EXPECT_NE(says(little(64, 8) + "{").find("64 bytes for the header"), std::string::npos);
}

// D17: linear time, bounded memory. 20000 of them, so that the test stays quick without optimisation.
TEST(HostileTensorCounts, D17ManyTensors) {
  constexpr int kCount = 20'000;
  std::string header = "{";
  for (int i = 0; i < kCount; ++i) {
    const std::string at = std::to_string(i);
    header +=
        (i == 0 ? "" : ",") + safetensors_entry("t" + at, "U8", "[1]", "[" + at + "," + std::to_string(i + 1) + "]");
  }
  const std::string bytes = safetensors_bytes(header + "}", std::string(kCount, 'x'));
  const Result<TensorFile> file = open_bounded(bytes, {});
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_NE(file->find("t19999"), nullptr);
  EXPECT_EQ(file->find("t19999")->offset, static_cast<std::int64_t>(bytes.size()) - 1);
}

}  // namespace
}  // namespace posenc::test::tensor_cases_test
