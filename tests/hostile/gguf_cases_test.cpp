#include "hostile/gguf_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include "posenc/read_plan.h"
#include "support/gguf_builder.h"
#include "support/heap_probe.h"

namespace posenc::test {
namespace {

class HostileGguf : public testing::TestWithParam<GgufCase> {};

Result<Plan> read_bounded(const std::string& bytes) {
  const HeapProbe probe;
  Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), "hostile.gguf");
  EXPECT_LE(probe.peak_growth(), json_heap_bound(static_cast<std::int64_t>(bytes.size())));
  return plan;
}

void expect_error(const GgufCase& c, const FileError& error) {
  const std::string message = error.message();
  EXPECT_EQ(name(error.kind), name(*c.kind)) << message;
  EXPECT_NE(message.find(c.fragment), std::string::npos) << message;
  EXPECT_EQ(error.file, "hostile.gguf") << message;
  EXPECT_TRUE(c.path.empty() || error.path == c.path) << message;
  EXPECT_TRUE(c.offset < 0 || error.offset == c.offset) << message;
  EXPECT_LT(message.size(), 1000u);
}

void expect_accepted(const GgufCase& c, const Plan& plan) {
  const auto same = [&](const Warning& warning) { return warning.code == c.fragment; };
  EXPECT_EQ(std::ranges::any_of(plan.warnings, same), !c.fragment.empty());
  // Most of the cases have no tensors, which alone say whether frequencies are divided.
  EXPECT_EQ(plan.known, std::ranges::find(plan.warnings, "no-tensors", &Warning::code) == plan.warnings.end());
}

TEST_P(HostileGguf, ComesToItsOutcome) {
  const GgufCase& c = GetParam();
  const Result<Plan> plan = read_bounded(c.make());
  if (!c.kind) {
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    expect_accepted(c, *plan);
    return;
  }
  ASSERT_FALSE(plan.ok());
  expect_error(c, plan.error());
}

INSTANTIATE_TEST_SUITE_P(C, HostileGguf, testing::ValuesIn(gguf_cases()), [](const auto& row) {
  std::string id = row.param.id;
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return id;
});

TEST(HostileGgufTable, HasEveryIdOnceAndEveryRefusalHasItsFragment) {
  std::set<std::string> ids;
  std::set<std::string> groups;
  for (const GgufCase& c : gguf_cases()) {
    EXPECT_TRUE(ids.insert(c.id).second) << c.id;
    if (c.id.starts_with('C')) groups.insert(c.id.substr(0, c.id.find('_')));
    EXPECT_FALSE(c.kind.has_value() && c.fragment.empty()) << c.id;
  }
  EXPECT_EQ(groups.size(), 28u);
}

// A file cut anywhere is refused, from memory and through a stream, and no cut is taken for the whole.
TEST(HostileGgufCuts, AreRefusedAtEveryByte) {
  const std::string whole = GgufBuilder()
                                .text("general.architecture", "llama")
                                .u32("llama.block_count", 1)
                                .u32("llama.context_length", 64)
                                .u32("llama.embedding_length", 16)
                                .u32("llama.attention.head_count", 2)
                                .texts("tokenizer.ggml.tokens", {"a", "bc", ""})
                                .floats("rope_freqs.weight", {1, 2, 3, 4})
                                .bytes();
  ASSERT_TRUE(read_bounded(whole).ok());
  for (std::size_t size = 4; size < whole.size(); ++size) {
    const Result<Plan> plan = read_bounded(whole.substr(0, size));
    ASSERT_FALSE(plan.ok()) << size;
    EXPECT_TRUE(plan.error().kind == ErrorKind::truncated || plan.error().kind == ErrorKind::count_too_large)
        << size << ": " << plan.error().message();
  }
}

// C8's other half: what takes long is seen by the test's own time limit. Here: bytes that an array announces and a
// stream never brings do not run up memory.
TEST(HostileGgufStream, OfEndlessZerosEndsAtTheLimit) {
  const std::string header = GgufBuilder().array_head("x", Gguf::text, UINT64_MAX / 16).bytes();
  std::size_t at = 0;
  const ByteStream endless = [&](std::byte* to, std::size_t count) -> std::ptrdiff_t {
    for (std::size_t i = 0; i < count; ++i, ++at) {
      to[i] = at < header.size() ? static_cast<std::byte>(header[at]) : std::byte{0};
    }
    return static_cast<std::ptrdiff_t>(count);
  };
  const HeapProbe probe;
  const Result<Plan> plan = read_plan(endless, "<stdin>");
  EXPECT_LE(probe.peak_growth(), std::int64_t{1} << 20);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::limit) << plan.error().message();
}

class HostileGgufFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("posenc_gguf_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

GgufBuilder small() {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 16)
      .u32("llama.attention.head_count", 2);
}

TEST_F(HostileGgufFiles, A11ASparseFileOfManyTerabytesTakesNoMemory) {
  const std::uint64_t numbers = std::uint64_t{1} << 41;  // 8 TiB of F32
  const auto path = put("sparse.gguf", small().tensor({.name = "t", .shape = {numbers}}).bytes());
  std::error_code failure;
  std::filesystem::resize_file(path, (std::uint64_t{4} << 41) + 4096, failure);
  if (failure) GTEST_SKIP() << "the file system takes no file of 8 TiB: " << failure.message();
  const HeapProbe probe;
  const Result<Plan> plan = read_plan(path);
  EXPECT_LE(probe.peak_growth(), std::int64_t{1} << 20);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_TRUE(plan->known);
}

TEST_F(HostileGgufFiles, C1AndA17AreToldByTheirBytes) {
  const Result<Plan> gguf = read_plan(put("model.safetensors", small().bytes()));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_EQ(gguf->source.kind, SourceKind::gguf);
  const Result<Plan> pickle = read_plan(put("model.gguf", "\x80\x02pickle"));
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.error().kind, ErrorKind::wrong_format);
  EXPECT_NE(pickle.error().message().find("expected a GGUF model, got a Python pickle"), std::string::npos);
  const Result<Plan> empty = read_plan(put("empty.gguf", ""));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().kind, ErrorKind::truncated);
}

TEST_F(HostileGgufFiles, B32ADirectoryMeansItsConfigAndNamesTheGgufBesideIt) {
  put("b.gguf", small().bytes());
  put("a.gguf", small().bytes());
  const Result<Plan> none = read_plan(folder_);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("a.gguf"), std::string::npos) << none.error().message();
  put("config.json",
      R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16,
          "max_position_embeddings": 64})");
  const Result<Plan> plan = read_plan(folder_);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->source.kind, SourceKind::config_json);
  const auto beside = std::ranges::find(plan->warnings, "gguf-beside", &Warning::code);
  ASSERT_NE(beside, plan->warnings.end());
  EXPECT_NE(beside->message.find("a.gguf"), std::string::npos);
}

}  // namespace
}  // namespace posenc::test

namespace posenc::test {
// What GoogleTest prints of a case.
void PrintTo(const GgufCase& c, std::ostream* out) { *out << c.id; }
}  // namespace posenc::test
