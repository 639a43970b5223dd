// How many cores there are to run on: not those of the machine, but those of this thread's affinity (taskset, cpuset)
// and of the control group's CPU quota (docker --cpus, Kubernetes limits). More threads than that are throttled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace posenc::inline v0_2 {

// At least 1. The calling thread's affinity, and the quota of the process's control group.
std::int64_t available_cores();

// The cores that a quota of CPU time amounts to, rounded down, at least 1: half a core more than whole ones would have
// a thread stopped for half of each period, and with it all that wait for its part. The least of the quotas of the
// group that `membership`, the text of /proc/self/cgroup, names and of those above it; nothing without a quota.
// `mount` is where control groups are mounted: version 2's tree, or version 1's folder of which "cpu" is a part.
std::optional<std::int64_t> quota_cores(std::string_view membership, const std::string& mount);

}  // namespace posenc::inline v0_2
