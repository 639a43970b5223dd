// Counts the cores that this process may use under Linux: sched_getaffinity(2), and the CPU quota of its control group,
// cpu.max of version 2 (Linux, Documentation/admin-guide/cgroup-v2.rst) or cpu.cfs_quota_us and cpu.cfs_period_us of
// version 1 (sched-bwc). So a container with two CPUs of a machine of 128 gets two threads.
#include "base/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>
#include <vector>

namespace posenc::inline v0_2 {
namespace {

constexpr std::size_t kFileBytes = 16384;  // of a file of the kernel's; they are some hundred bytes
constexpr std::size_t kAffinitySets = 64;  // cpu_set_t holds 1024 cores, and Linux knows of 8192

// The file's text; empty when there is none, or where reading fails.
std::string text_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, kFileBytes> bytes{};
  std::size_t held = 0;
  ssize_t got = 0;
  do {
    got = read(file, bytes.data() + held, bytes.size() - held);
    if (got > 0) held += static_cast<std::size_t>(got);
  } while (got > 0 && held < bytes.size());
  close(file);
  return {bytes.data(), held};
}

// The number that text begins with, which is then taken off it together with the blank behind it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

// Microseconds of CPU time per period of so many microseconds.
std::optional<std::int64_t> cores_of(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return {};  // "max", -1, no such file
  return std::max<std::int64_t>(1, *quota / *period);
}

std::optional<std::int64_t> cores_of_group(const std::string& folder) {
  const std::string second = text_of(folder + "/cpu.max");  // version 2: "150000 100000", "max 100000"
  if (!second.empty()) {
    std::string_view rest = second;
    const std::optional<std::int64_t> quota = take_number(rest);
    return cores_of(quota, take_number(rest));
  }
  const std::string quota = text_of(folder + "/cpu.cfs_quota_us");
  const std::string period = text_of(folder + "/cpu.cfs_period_us");
  std::string_view quota_text = quota;
  std::string_view period_text = period;
  return cores_of(take_number(quota_text), take_number(period_text));
}

// The least of the quotas of mount + group and of all groups above. In a container the path is often the host's, which
// is not there: the search then begins at the first folder that is, the mount at the latest.
std::optional<std::int64_t> cores_up_from(const std::string& mount, std::string group) {
  std::optional<std::int64_t> least;
  for (;;) {
    const std::optional<std::int64_t> cores = cores_of_group(mount + group);
    if (cores && (!least || *cores < *least)) least = cores;
    if (group.empty()) return least;
    const std::size_t slash = group.rfind('/');
    group.resize(slash == group.npos ? 0 : slash);
  }
}

std::int64_t cores_of_affinity() {
  for (std::size_t sets = 1; sets <= kAffinitySets; sets *= 2) {  // too small a mask is refused
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) return std::max(1, CPU_COUNT_S(bytes, mask.data()));
  }
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.size(), list.find(','));
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> quota_cores(std::string_view membership, const std::string& mount) {
  std::optional<std::int64_t> least;
  while (!membership.empty()) {  // lines of "0::/group" (version 2) or "4:cpu,cpuacct:/group"
    const std::size_t end = std::min(membership.size(), membership.find('\n'));
    const std::string_view line = membership.substr(0, end);
    membership.remove_prefix(std::min(membership.size(), end + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string group(line.substr(second + 1));
    if (group == "/" || group.find("/..") != group.npos) group.clear();  // "/../a" lies outside of what is mounted
    std::optional<std::int64_t> cores;
    if (controllers.empty()) cores = cores_up_from(mount, group);
    if (has_controller(controllers, "cpu")) cores = cores_up_from(mount + "/cpu", group);
    if (cores && (!least || *cores < *least)) least = cores;
  }
  return least;
}

std::int64_t available_cores() {
  const std::int64_t allowed = cores_of_affinity();
  return std::min(allowed, quota_cores(text_of("/proc/self/cgroup"), "/sys/fs/cgroup").value_or(allowed));
}

}  // namespace posenc::inline v0_2
