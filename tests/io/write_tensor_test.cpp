// Writing .npy and safetensors: the bytes, and that nothing but a whole file ever has the name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/files/output_file.h"
#include "posenc/tensor_file.h"
#include "support/temporary_folder.h"
#include "support/tensor_bytes.h"
#include "support/throws.h"

namespace posenc::write_tensor_test {
namespace {

using test::file_content;
using testing::HasSubstr;

constexpr std::array<float, 6> kSix{1, 2, 3, 4, 5, 6};

TEST(WriteNpy, IsWhatNumPyWrites) {
  const test::TemporaryFolder folder;
  const auto header = [&](const ConstTensorView& tensor) {
    EXPECT_TRUE(write_npy(folder.path() / "x", tensor, {.replace = true}).ok());
    const std::string content = file_content(folder.path() / "x");
    const std::size_t end = content.find('\n');
    EXPECT_EQ((end + 1) % 64, 0u);
    return content.substr(10, content.find_last_not_of(' ', end - 1) - 9);
  };
  EXPECT_EQ(header(tensor(kSix.data(), {2, 3})), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(header(tensor(kSix.data(), {6})), "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }");
  EXPECT_EQ(header(tensor(kSix.data(), DType::bf16, {1, 2, 3, 2})),
            "{'descr': '<V2', 'fortran_order': False, 'shape': (1, 2, 3, 2), }");
  EXPECT_EQ(file_content(folder.path() / "x").size(), 128u + 24);
  EXPECT_EQ(file_content(folder.path() / "x").substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
}

TEST(WriteNpy, WhatIsWrittenReadsAsTheSame) {
  const test::TemporaryFolder folder;
  const ConstTensorView six = tensor(kSix.data(), {2, 3});
  ConstTensorView gaps = six;  // every other column
  gaps.shape = {2, 2};
  gaps.strides = {3, 2};
  const auto round_trip = [&](const ConstTensorView& view) {
    const std::filesystem::path path = folder.path() / "x.npy";
    EXPECT_TRUE(write_npy(path, view, {.replace = true}).ok());
    const TensorData data = *read_tensor(path);
    const auto* const first = static_cast<const float*>(data.view().data);
    return std::vector<float>(first, first + data.bytes().size() / 4);
  };
  EXPECT_EQ(round_trip(six), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(round_trip(transposed(six, 0, 1)), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(round_trip(gaps), (std::vector<float>{1, 3, 4, 6}));
  EXPECT_EQ(round_trip(tensor(kSix.data(), {0, 3})), (std::vector<float>{}));
  // More than one buffer's worth, backwards.
  std::vector<float> many(100'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  ConstTensorView backwards = tensor(static_cast<const float*>(many.data()), {100'000});
  backwards.data = many.data() + many.size() - 1;
  backwards.strides = {-1};
  EXPECT_EQ(round_trip(backwards), std::vector<float>(many.rbegin(), many.rend()));
}

// Calls of write(2) that this process has made; none where the system does not count them.
std::optional<std::int64_t> writes_so_far() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  std::int64_t number = 0;
  while (counts >> name >> number) {
    if (name == "syscw:") return number;
  }
  return {};
}

TEST(WriteNpy, WritesADenseTensorAtOnce) {
  if (!writes_so_far()) GTEST_SKIP() << "/proc/self/io is not there";
  if (test::kIsBigEndian) GTEST_SKIP() << "every element is swapped";
  const test::TemporaryFolder folder;
  const std::vector<float> many(std::size_t{1} << 20);
  const auto writes = [&](const ConstTensorView& view) {
    const std::int64_t before = *writes_so_far();
    EXPECT_TRUE(write_npy(folder.path() / "x.npy", view, {.replace = true}).ok());
    return *writes_so_far() - before;
  };
  const ConstTensorView dense = tensor(many.data(), {1 << 10, 1 << 10});
  static_cast<void>(writes(dense));  // sanitizers write as well, when they first see a type
  EXPECT_EQ(writes(dense), 2);       // the header, the elements
  EXPECT_GT(writes(transposed(dense, 0, 1)), 2);
}

TEST(WriteSafetensors, PutsWideTypesFirstAndNamesInOrder) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x.safetensors";
  const std::vector<NamedTensor> tensors{{"h", tensor(kSix.data(), DType::f16, {1})},
                                         {"b", tensor(kSix.data(), {2})},
                                         {"z", tensor(kSix.data(), DType::f64, {3})},
                                         {"a\"", tensor(kSix.data(), {1})}};
  const Result<std::int64_t> written = write_safetensors(path, tensors, {{"k", "v"}});
  ASSERT_TRUE(written.ok()) << written.error().message();
  const std::string content = file_content(path);
  EXPECT_EQ(*written, static_cast<std::int64_t>(content.size()));
  const std::string header =
      R"({"__metadata__":{"k":"v"},"z":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},)"
      R"("a\"":{"dtype":"F32","shape":[1],"data_offsets":[24,28]},"b":{"dtype":"F32","shape":[2],)"
      R"("data_offsets":[28,36]},"h":{"dtype":"F16","shape":[1],"data_offsets":[36,38]}})";
  EXPECT_EQ(content.substr(8, header.size()), header);
  EXPECT_EQ((content.size() - 38) % 8, 0u);
  const Result<TensorFile> file = open_tensor_file(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_EQ(file->read("b")->bytes().size(), 8u);
  ASSERT_TRUE(write_safetensors(path, {}, {}, {.replace = true}).ok());
  EXPECT_EQ(file_content(path), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(WriteTensors, RefusesWhatCannotBeWritten) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x";
  const ConstTensorView one = tensor(kSix.data(), {1});
  EXPECT_ERROR((void)write_npy(path, ConstTensorView{}), "[write_npy] rank must be from 1 to 4 but is 0");
  EXPECT_ERROR((void)write_npy(path, tensor(static_cast<const float*>(nullptr), {1})),
               "[write_npy] data must be there but is null");
  ConstTensorView negative = one;
  negative.shape[0] = -1;
  EXPECT_ERROR((void)write_npy(path, negative), "[write_npy] shape must have no negative size but is -1");
  const auto named = [&](std::vector<std::string_view> names) {
    std::vector<NamedTensor> tensors;
    for (const std::string_view name : names) tensors.push_back({name, one});
    return write_safetensors(path, tensors);
  };
  EXPECT_ERROR((void)named({"a", "a"}), "[write_safetensors] name must stand once but is a, twice");
  EXPECT_ERROR((void)named({""}), "[write_safetensors] name must say something but is empty");
  EXPECT_ERROR((void)named({"__metadata__"}), "[write_safetensors] name must be a tensor's but is __metadata__");
  EXPECT_ERROR((void)named({"\xFF"}), "[write_safetensors] name must be UTF-8 but is \\xff");
  EXPECT_EQ(folder.entries(), 0);
}

// ---- the file system ----

Result<std::int64_t> write_one(const std::filesystem::path& path, bool replace = false) {
  return write_npy(path, tensor(kSix.data(), {6}), {.replace = replace});
}

TEST(OutputFiles, A19WhatStandsThereIsReplacedOnlyWhenAskedFor) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x.npy", "old");
  const Result<std::int64_t> refused = write_one(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::output_exists);
  EXPECT_EQ(file_content(path), "old");
  EXPECT_EQ(*write_one(path, true), 152);
  EXPECT_EQ(file_content(path).size(), 152u);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFiles, HoldAnyBytes) {
  const test::TemporaryFolder folder;
  const std::string bytes("a\0\n", 3);
  EXPECT_EQ(*write_file(folder.path() / "x", bytes), 3);
  EXPECT_EQ(file_content(folder.path() / "x"), bytes);
  EXPECT_EQ(*write_file(folder.path() / "x", "", {.replace = true}), 0);
  EXPECT_EQ(file_content(folder.path() / "x"), "");
  EXPECT_EQ(write_file(folder.path() / "x", bytes).error().kind, ErrorKind::output_exists);
}

TEST(OutputFiles, AFileThatIsMappedStaysWhatItWas) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x.npy";
  ASSERT_TRUE(write_one(path).ok());
  const Result<TensorFile> file = open_tensor_file(path, {.access = DataAccess::map});
  const TensorData before = *file->read(0);
  ASSERT_EQ(before.owned(), test::kIsBigEndian);
  constexpr std::array<float, 2> kOther{-1, -2};
  ASSERT_TRUE(write_npy(path, tensor(kOther.data(), {2}), {.replace = true}).ok());
  EXPECT_EQ(static_cast<const float*>(before.view().data)[5], 6);
}

TEST(OutputFiles, LinksAndOtherThingsAreLeftAlone) {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.file("target", "old");
  std::filesystem::create_symlink(target, folder.path() / "link");
  std::filesystem::create_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  std::filesystem::create_directory(folder.path() / "folder");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "dangling", "folder", "pipe"}) {
    for (const bool replace : {false, true}) {
      const Result<std::int64_t> written = write_one(folder.path() / name, replace);
      ASSERT_FALSE(written.ok()) << name;
      EXPECT_EQ(written.error().kind, ErrorKind::output_exists) << name;
    }
  }
  EXPECT_EQ(file_content(target), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
  EXPECT_EQ(folder.entries(), 5);
}

TEST(OutputFiles, WhatComesWhileWritingIsNotReplaced) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x";
  io::OutputFile out(path, {});
  out.write("new");
  folder.file("x", "came first");
  const Result<std::int64_t> published = out.publish();
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().kind, ErrorKind::output_exists);
  EXPECT_EQ(file_content(path), "came first");
}

TEST(OutputFiles, WhatIsNotPublishedLeavesNothing) {
  const test::TemporaryFolder folder;
  {
    io::OutputFile out(folder.path() / "x", {});
    out.write("new");
    EXPECT_EQ(folder.entries(), 1);  // beside the name
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "x"));
  }
  EXPECT_EQ(folder.entries(), 0);
}

// Two pieces and a bit: asked after each, before the file is forced to the disk and before it gets its name.
TEST(OutputFiles, MayBeGivenUpOnTheWay) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x", "old");
  const std::vector<float> numbers((std::size_t{33} << 20U) / sizeof(float));
  const auto write = [&](std::size_t give_up_at, std::vector<std::int64_t>& asked) {
    return write_npy(path, tensor(numbers.data(), {std::ssize(numbers)}),
                     {.replace = true, .keep_going = [&](std::int64_t bytes) {
                        EXPECT_EQ(folder.entries(), 2);
                        asked.push_back(bytes);
                        return asked.size() != give_up_at;
                      }});
  };
  for (std::size_t at = 1; at <= 4; ++at) {
    std::vector<std::int64_t> asked;
    const Result<std::int64_t> written = write(at, asked);
    ASSERT_FALSE(written.ok()) << at;
    EXPECT_EQ(written.error().kind, ErrorKind::io_write);
    EXPECT_THAT(written.error().message(), HasSubstr("a request to stop"));
    EXPECT_EQ(asked.size(), at);
    EXPECT_EQ(file_content(path), "old");
    EXPECT_EQ(folder.entries(), 1);
  }
  std::vector<std::int64_t> asked;
  const std::int64_t all = *write(0, asked);
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_GE(asked[0], 16 << 20);
  EXPECT_GE(asked[1], 32 << 20);
  EXPECT_EQ((std::vector{asked[2], asked[3]}), (std::vector{all, all}));
}

TEST(OutputFiles, WhatIsThrownOnTheWayLeavesNothing) {
  const test::TemporaryFolder folder;
  const WriteOptions options{.keep_going = [](std::int64_t) -> bool { throw std::runtime_error("stop"); }};
  EXPECT_THROW((void)write_npy(folder.path() / "x", tensor(kSix.data(), {6}), options), std::runtime_error);
  EXPECT_EQ(folder.entries(), 0);
}

TEST(OutputFiles, BadPaths) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_one("").error().kind, ErrorKind::bad_path);
  EXPECT_EQ(write_one(std::string("a\0b", 3)).error().kind, ErrorKind::bad_path);
  EXPECT_EQ(write_one(folder.path() / "no folder/x").error().kind, ErrorKind::io_write);
  EXPECT_EQ(write_one(folder.file("file", "") / "x").error().kind, ErrorKind::io_write);
  EXPECT_EQ(write_one(folder.path() / std::string(300, 'n')).error().kind, ErrorKind::io_write);
}

// A limit on the size of files stands for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(OutputFiles, A20AFullDiskLeavesWhatWasThere) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("x.npy", "old");
  const Result<std::int64_t> written = [&] {
    const FileSizeLimit limit(100);
    return write_one(path, true);
  }();
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::io_write);
  EXPECT_THAT(written.error().message(), HasSubstr("File too large"));
  EXPECT_EQ(file_content(path), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFiles, TheUmaskDecidesWhoMayRead) {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(0027);
  const bool written = write_one(folder.path() / "x").ok();
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(std::filesystem::status(folder.path() / "x").permissions(), static_cast<std::filesystem::perms>(0640));
}

}  // namespace
}  // namespace posenc::write_tensor_test
