// The hostile files: A1 to A16 of the checklist, as far as they concern reading a file. Failing system calls (A8, A12,
// A13) are in tests/io/read_all_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "io/files/read_all.h"
#include "io/files/regular_file.h"
#include "io/files/text_file.h"
#include "support/heap_probe.h"

namespace posenc::io::file_cases_test {
namespace {

using namespace std::string_literals;
namespace fs = std::filesystem;

constexpr std::int64_t kCap = 1 << 20;

class HostileFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "posenc_files_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  // An error of that kind, which names the file, says the fragment, and took no memory to speak of.
  static void expect_refused(const fs::path& path, ErrorKind kind, const std::string& fragment,
                             std::int64_t max_bytes = kCap) {
    const test::HeapProbe probe;
    const Result<std::string> text = read_text_file(path, max_bytes);
    EXPECT_LT(probe.peak_growth(), 4 * kCap);
    ASSERT_FALSE(text.ok()) << path;
    const FileError& error = text.error();
    EXPECT_EQ(name(error.kind), name(kind)) << error.message();
    EXPECT_EQ(error.file, path.native());
    EXPECT_EQ(error.line, -1);
    EXPECT_NE(error.message().find(fragment), std::string::npos) << error.message();
  }

  fs::path folder_;
};

TEST_F(HostileFile, A1_MissingOrForbidden) {
  expect_refused(folder_ / "missing.json", ErrorKind::io_open, errno_text(ENOENT));
  expect_refused(put("plain", "{}") / "config.json", ErrorKind::io_open, errno_text(ENOTDIR));
  if (geteuid() == 0) GTEST_SKIP() << "nothing is forbidden to root";
  const fs::path secret = put("secret.json", "{}");
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  expect_refused(secret, ErrorKind::io_open, errno_text(EACCES));
}

TEST_F(HostileFile, A2_Directory) { expect_refused(folder_, ErrorKind::not_regular_file, "a directory"); }

TEST_F(HostileFile, A3_PipeSocketDevice) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(pipe, ErrorKind::not_regular_file, "a pipe");

  const fs::path socket_path = folder_ / "socket";
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_path.native().size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.native().size());
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expect_refused(socket_path, ErrorKind::not_regular_file, "a socket");
  close(listening);

  expect_refused("/dev/zero", ErrorKind::not_regular_file, "a device");
  fs::create_symlink("/dev/zero", folder_ / "zero.json");
  expect_refused(folder_ / "zero.json", ErrorKind::not_regular_file, "a device");
}

TEST_F(HostileFile, A4_FilesWhoseSizeSaysNothing) {
  const Result<std::string> status = read_text_file("/proc/self/status", kCap);
  ASSERT_TRUE(status.ok()) << status.error().message();
  EXPECT_EQ(status->rfind("Name:", 0), 0u);
  expect_refused("/proc/self/status", ErrorKind::limit, "at most 16 bytes, got more", 16);
}

TEST_F(HostileFile, A10_ReplacedWhileRead) {
  const std::string old_text(300000, 'o');
  const std::string new_text(200000, 'n');
  const fs::path path = put("config.json", old_text);
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) fs::rename(put("next", i % 2 == 0 ? new_text : old_text), path);
  });
  for (int i = 0; i < 300; ++i) {
    const Result<std::string> text = read_text_file(path, kCap);
    ASSERT_TRUE(text.ok()) << text.error().message();
    ASSERT_TRUE(*text == old_text || *text == new_text) << text->size();
  }
  writer.join();
}

TEST_F(HostileFile, A11_SparseGiant) {
  const fs::path path = put("sparse.json", "{}");
  if (truncate(path.c_str(), off_t{1} << 43) != 0) GTEST_SKIP() << "this file system has no such sizes";
  expect_refused(path, ErrorKind::limit, "at most 1048576 bytes, got 8796093022208");
}

TEST_F(HostileFile, A13_ReadingFails) {
  // Address 0 of this process is not mapped: the system answers EIO.
  expect_refused("/proc/self/mem", ErrorKind::io_read, errno_text(EIO));
}

TEST_F(HostileFile, A14_LinkToAFile) {
  put("target.json", "{\"a\": 1}");
  fs::create_symlink("target.json", folder_ / "link.json");
  const Result<std::string> text = read_text_file(folder_ / "link.json", kCap);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(*text, "{\"a\": 1}");
}

TEST_F(HostileFile, A15_LoopOfLinks) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  expect_refused(folder_ / "a", ErrorKind::io_open, errno_text(ELOOP));
}

TEST_F(HostileFile, A16_NamesThatLie) {
  put("config.json", "{}");
  expect_refused(fs::path((folder_ / "config.json").native() + "\0.txt"s), ErrorKind::bad_path, "NUL byte");
  expect_refused("", ErrorKind::bad_path, "an empty one");
  expect_refused(folder_ / std::string(5000, 'x'), ErrorKind::io_open, errno_text(ENAMETOOLONG));
  expect_refused(folder_ / "a\n\x1b[2J\xFF", ErrorKind::io_open, "/a\\x0a\\x1b[2J\\xff: cannot open");
  const Result<std::string> odd_but_there = read_text_file(put("a\n\xFF", "{}"), kCap);
  ASSERT_TRUE(odd_but_there.ok()) << odd_but_there.error().message();
  EXPECT_EQ(*odd_but_there, "{}");
}

// A program that another thread starts meanwhile must not hold the file open.
TEST_F(HostileFile, J6_ADescriptorEndsWithExec) {
  const fs::path path = put("config.json", "{}");
  const Result<RegularFile> file = RegularFile::open(path);
  ASSERT_TRUE(file.ok());
  int seen = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the descriptor of the folder itself may be gone
    if (fs::read_symlink(entry.path(), closed) != fs::canonical(path)) continue;
    EXPECT_NE(fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC, 0);
    ++seen;
  }
  EXPECT_EQ(seen, 1);
}

TEST_F(HostileFile, ManyRefusalsLeaveNoFileOpen) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int before = dup(0);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_FALSE(read_text_file("/proc/self/mem", kCap).ok());
    EXPECT_FALSE(read_text_file("/proc/self/status", 1).ok());
  }
  const int after = dup(0);
  EXPECT_EQ(after, before + 1);
  close(before);
  close(after);
}

}  // namespace
}  // namespace posenc::io::file_cases_test
