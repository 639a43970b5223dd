// read_plan() from the bytes of a config.json: a plan or a sound error, within the memory that is promised. A plan
// describes itself, has frequencies at its length, and its JSON reads back as the same plan.
#include <optional>
#include <span>

#include "fuzz/plan_checks.h"
#include "fuzz/target.h"
#include "posenc/read_plan.h"
#include "support/heap_probe.h"

namespace posenc::fuzz {
namespace {

constexpr std::string_view kName = "config.json";
constexpr std::uint64_t kChecks = 4;  // one of as many plans goes through its JSON: that takes longer than reading

// No length, and lengths on both sides of those that models were trained with.
constexpr std::optional<std::int64_t> kLengths[] = {{}, {}, 1, 4097, 131072, std::int64_t{1} << 53};

}  // namespace

void run_one(std::string_view bytes) {
  const std::uint64_t choice = hash(bytes);
  const ReadOptions options{.length = kLengths[choice % std::size(kLengths)]};
  const test::HeapProbe probe;
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), kName, options);
  const auto bound = test::file_heap_bound(static_cast<std::int64_t>(bytes.size()));
  must(probe.peak_growth() <= bound, "reading takes at most 64 bytes per byte and 1 MiB");
  if (!plan) return must_be_sound(plan.error(), bytes, kName);
  must_have_frequencies(*plan);
  if ((choice >> 32) % kChecks == 0) must_be_usable(*plan);
  if ((choice >> 32) % kChecks == 1) must_describe(*plan);
}

}  // namespace posenc::fuzz
