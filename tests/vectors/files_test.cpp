// The files of vectors: the same bytes each time, read back as they were, whole or not there; hostile ones refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "posenc/error.h"
#include "posenc/read_plan.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/ports.h"

namespace posenc::test {
namespace {

constexpr VectorFormat kFormats[] = {VectorFormat::npy, VectorFormat::safetensors, VectorFormat::json,
                                     VectorFormat::c,   VectorFormat::rust,        VectorFormat::python};

const VectorFile& file_of(const std::vector<VectorFile>& files, std::string_view name) {
  return *std::ranges::find(files, name, &VectorFile::name);
}

TEST(vector_files, the_same_call_gives_the_same_bytes) {
  const Plan plan = preset_plan("gemma-2-9b");
  for (const VectorFormat format : kFormats) {
    EXPECT_EQ(vector_files(make_vectors(plan, {.layer = 1}), {.format = format}),
              vector_files(make_vectors(plan, {.layer = 1}), {.format = format}));
  }
}

TEST(vector_files, every_format_is_read_back_as_it_was) {
  for (const char* preset : {"gpt-oss-20b", "t5-base", "glm-4-9b", "bert-base"}) {
    const Plan plan = preset_plan(preset);
    const std::string stack = plan.stacks.front().name;
    const Vectors golden = make_vectors(plan, {.stack = stack, .layer = 1, .start = 3});
    for (const VectorFormat format : kFormats) {
      SCOPED_TRACE(std::string(preset) + " " + std::string(name(format)));
      const TemporaryFolder folder;
      const auto files = vector_files(golden, {.format = format});
      const Result<std::int64_t> written = write_vectors(folder.path() / "golden", files);
      ASSERT_TRUE(written) << written.error().message();
      const Result<Vectors> back = read_vectors(folder.path() / "golden");
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_EQ(*back, golden);
      EXPECT_EQ(folder.entries(), 1);
    }
  }
}

TEST(vector_files, nothing_is_written_over) {
  const TemporaryFolder folder;
  const auto files = vector_files(make_vectors(preset_plan("qwen2.5-0.5b")));
  const auto place = folder.path() / "golden";
  std::filesystem::create_directory(place);
  ASSERT_TRUE(write_vectors(place, files)) << "an empty directory may be taken";
  const Result<std::int64_t> again = write_vectors(place, files);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::output_exists);
  EXPECT_EQ(folder.entries(), 1);
  const auto file = folder.file("a file", "kept");
  EXPECT_EQ(write_vectors(file, files).error().kind, ErrorKind::output_exists);
  EXPECT_EQ(file_content(file), "kept");
  EXPECT_EQ(write_vectors(folder.path() / "none" / "golden", files).error().kind, ErrorKind::io_write);
  EXPECT_EQ(write_vectors("", files).error().kind, ErrorKind::bad_path);
  EXPECT_EQ(folder.entries(), 2);
}

TEST(vector_files, names_have_no_folder) {
  const TemporaryFolder folder;
  for (const char* name : {"../out", "a/b", "", ".hidden"}) {
    EXPECT_THROW((void)write_vectors(folder.path() / "x", std::vector<VectorFile>{{name, ""}}), Error) << name;
  }
  EXPECT_THROW((void)write_vectors(folder.path() / "x", std::vector<VectorFile>{}), Error);
  EXPECT_EQ(folder.entries(), 0);
}

TEST(vector_files, a_test_goes_with_its_format) {
  const Vectors golden = make_vectors(preset_plan("qwen2.5-0.5b"));
  EXPECT_ERROR((void)vector_files(golden, {.format = VectorFormat::npy, .test = VectorTest::cargo}),
               "[vector_files] test must go with the format npy but is cargo");
}

// Each word of a manifest replaced: what is read is an error, or the vectors.
TEST(vector_files, a_changed_manifest_is_refused) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 3});
  const auto files = vector_files(golden, {.format = VectorFormat::json, .test = VectorTest::none});
  struct Changed {
    const char* from;
    const char* to;
    ErrorKind kind;
  };
  const std::vector<Changed> changes = {
      {"\"schema_version\": 1", "\"schema_version\": 2", ErrorKind::unsupported_version},
      {"\"tokens\": 3", "\"tokens\": 4", ErrorKind::length_mismatch},
      {"\"tokens\": 3", "\"tokens\": 1e9", ErrorKind::bad_plan},
      {"\"tokens\": 3", "\"tokens\": null", ErrorKind::length_mismatch},
      {"\"layer\": 0", "\"layer\": 99", ErrorKind::bad_plan},
      {"\"stack\": \"decoder\"", "\"stack\": \"nothing\"", ErrorKind::bad_plan},
      {"\"shape\": [3, 2, 64]", "\"shape\": [3, 2, 65]", ErrorKind::length_mismatch},
      {"\"shape\": [3, 2, 64]", "\"shape\": [3, 2]", ErrorKind::length_mismatch},
      {"\"shape\": [3, 2, 64]", "\"shape\": \"x\"", ErrorKind::length_mismatch},
      {"\"format\": \"json\"", "\"format\": \"npz\"", ErrorKind::bad_value},
      {"\"format\": \"json\"", "\"format\": \"npy\"", ErrorKind::io_open},
      {"\"relative\": ", "\"relative\": -", ErrorKind::out_of_range},
      {"\"q\": {", "\"Q\": {", ErrorKind::missing_key},
      {"\"values\": [", "\"values\": [null, ", ErrorKind::length_mismatch},
      {"\"values\": [", "\"value\": [", ErrorKind::missing_key},
      {"\"bounds\": {", "\"bound\": {", ErrorKind::missing_key},
  };
  for (const Changed& change : changes) {
    SCOPED_TRACE(std::string(change.from) + " -> " + change.to);
    std::vector<VectorFile> spoiled = files;
    std::string& text = spoiled.front().bytes;
    const std::size_t at = text.find(change.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string_view(change.from).size(), change.to);
    const TemporaryFolder folder;
    ASSERT_TRUE(write_vectors(folder.path() / "golden", spoiled));
    const Result<Vectors> read = read_vectors(folder.path() / "golden");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, change.kind) << read.error().message();
  }
}

TEST(vector_files, a_manifest_cut_short_anywhere_is_an_error) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 2});
  const auto files = vector_files(golden, {.format = VectorFormat::json, .test = VectorTest::none});
  const std::string& whole = file_of(files, "vectors.json").bytes;
  const TemporaryFolder folder;
  ASSERT_TRUE(write_vectors(folder.path() / "golden", files));
  for (std::size_t length = 0; length + 2 < whole.size(); length += 997) {
    std::ofstream(folder.path() / "golden" / "vectors.json", std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(read_vectors(folder.path() / "golden"));
  }
}

TEST(vector_files, a_tensor_of_another_type_or_shape_is_refused) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 2});
  const auto files = vector_files(golden);
  const TemporaryFolder folder;
  ASSERT_TRUE(write_vectors(folder.path() / "golden", files));
  const float other[4] = {};
  ASSERT_TRUE(write_npy(folder.path() / "golden" / "q.npy", tensor(other, {2, 2}), {.replace = true}));
  const Result<Vectors> read = read_vectors(folder.path() / "golden");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::bad_tensor);
}

}  // namespace
}  // namespace posenc::test
