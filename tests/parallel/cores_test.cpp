#include "base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "posenc/parallel.h"

namespace posenc::cores_test {
namespace {

// Under the affinity of one core, on a thread of its own.
template <typename Work>
void on_one_core(const Work& work) {
  std::thread([&work] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    CPU_ZERO(&allowed);
    CPU_SET(core, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    work();
  }).join();
}

TEST(AvailableCores, AreThoseOfTheCallingThread) {
  const std::int64_t here = available_cores();
  EXPECT_GE(here, 1);
  EXPECT_LE(here, std::thread::hardware_concurrency());
  on_one_core([] { EXPECT_EQ(available_cores(), 1); });
  EXPECT_EQ(available_cores(), here);
}

TEST(ThreadPool, HasNoMoreThreadsThanCoresUnlessTold) {
  if (std::getenv("POSENC_THREADS") != nullptr) GTEST_SKIP() << "POSENC_THREADS tells it";
  EXPECT_EQ(ThreadPool().threads(), available_cores());
  on_one_core([] {
    EXPECT_EQ(ThreadPool().threads(), 1);
    EXPECT_EQ(ThreadPool({.threads = 5}).threads(), 5);
  });
}

class QuotaCores : public testing::Test {
 protected:
  QuotaCores() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    mount_ = testing::TempDir() + "posenc_quota_" + test.name();
    std::filesystem::remove_all(mount_);
    std::filesystem::create_directories(mount_);
  }
  ~QuotaCores() override { std::filesystem::remove_all(mount_); }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = mount_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<std::int64_t> of(const std::string& membership) const { return quota_cores(membership, mount_); }

  std::string mount_;
};

TEST_F(QuotaCores, NoneWithoutAGroup) {
  EXPECT_EQ(of(""), std::nullopt);
  EXPECT_EQ(of("0::/\n"), std::nullopt);
  EXPECT_EQ(of("nonsense\n:\n::\n0:\n"), std::nullopt);
  EXPECT_EQ(of("0::no/slash"), std::nullopt);
}

TEST_F(QuotaCores, OfVersion2) {
  write("a/cpu.max", "350000 100000\n");
  EXPECT_EQ(of("0::/a\n"), 3) << "rounded down";
  write("a/cpu.max", "50000 100000\n");
  EXPECT_EQ(of("0::/a\n"), 1) << "at least one";
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(of("0::/a\n"), std::nullopt);
  for (const char* odd : {"", "\n", "200000", "200000 0", "-1 100000", "x 100000", "99999999999999999999 1"}) {
    write("a/cpu.max", odd);
    EXPECT_EQ(of("0::/a\n"), std::nullopt) << odd;
  }
}

TEST_F(QuotaCores, TheLeastOfTheGroupsAbove) {
  write("a/b/c/cpu.max", "800000 100000");
  write("a/b/cpu.max", "max 100000");
  write("a/cpu.max", "200000 100000");
  EXPECT_EQ(of("0::/a/b/c"), 2);
  EXPECT_EQ(of("0::/a/b/c/not/there"), 2);
  EXPECT_EQ(of("0::/b"), std::nullopt);
  write("cpu.max", "600000 100000");
  EXPECT_EQ(of("0::/b"), 6) << "in a container the mount is the group";
  EXPECT_EQ(of("0::/../elsewhere"), 6);
  EXPECT_EQ(of("0::/a"), 2);
}

TEST_F(QuotaCores, OfVersion1) {
  write("cpu/a/cpu.cfs_quota_us", "250000\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(of("11:memory:/a\n4:cpu,cpuacct:/a\n0::/\n"), 2);
  EXPECT_EQ(of("4:cpuacct,cpu:/a\n"), 2);
  EXPECT_EQ(of("3:cpuset:/a\n2:cpuacct:/a\n"), std::nullopt);
  write("cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(of("4:cpu:/a\n"), std::nullopt);
}

}  // namespace
}  // namespace posenc::cores_test
