// slot_mapping, as vLLM calls it: one row of the cache for each token, -1 for none, none twice. Runs of consecutive
// slots are sorted and compared by their ends, so a prompt costs no more than its blocks.
#include "cpu/cache/check_slots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "cpu/attend/scratch.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Runs that are sorted on the stack.
constexpr std::int64_t kSmallRuns = 256;

// Rows first .. first + count - 1 of the cache, which slots[index] and those after it name.
struct Run {
  std::int64_t first;
  std::int64_t count;
  std::int64_t index;
};

// Calls add(run) for the runs that the slots make.
template <typename Add>
void for_slot_runs(std::span<const std::int64_t> slots, const Add& add) {
  Run run{0, 0, 0};
  for (std::int64_t i = 0; i < std::ssize(slots); ++i) {
    const std::int64_t slot = slots[static_cast<std::size_t>(i)];
    if (run.count > 0 && slot == run.first + run.count) {
      ++run.count;
      continue;
    }
    if (run.count > 0) add(run);
    run = {slot, slot < 0 ? 0 : 1, i};
  }
  if (run.count > 0) add(run);
}

// The row that both runs name is the first of b, `in_a` its place among a's slots.
[[noreturn]] [[gnu::cold]] void refuse_repeat(std::string_view where, const Run& a, const Run& b) {
  const std::int64_t in_a = a.index + (b.first - a.first);
  throw Error(where, {formatted("slots[{}]", std::max(in_a, b.index)),
                      formatted("be another row than slots[{}]", std::min(in_a, b.index)), formatted("{}", b.first)});
}

}  // namespace

void check_slots(std::string_view where, std::span<const std::int64_t> slots, std::int64_t tokens, std::int64_t rows) {
  if (std::ssize(slots) != tokens) {
    throw Error(where, {"slots", formatted("have one entry for each of {} tokens", tokens),
                        formatted("{} long", slots.size())});
  }
  for (std::int64_t i = 0; i < tokens; ++i) {
    const std::int64_t slot = slots[static_cast<std::size_t>(i)];
    if (slot >= -1 && slot < rows) continue;
    throw Error(where, {formatted("slots[{}]", i), formatted("be -1 or one of the {} rows of the cache", rows),
                        formatted("{}", slot)});
  }

  // Runs that ascend cannot repeat a row: the usual case, for which nothing is sorted.
  std::int64_t runs = 0;
  std::int64_t end = 0;  // of the runs so far
  bool ascend = true;
  for_slot_runs(slots, [&](const Run& run) {
    ++runs;
    ascend = ascend && run.first >= end;
    end = run.first + run.count;
  });
  if (ascend) return;

  Scratch<Run, kSmallRuns> sorted(runs);
  std::int64_t n = 0;
  for_slot_runs(slots, [&](const Run& run) { sorted.data()[n++] = run; });
  std::sort(sorted.data(), sorted.data() + runs,
            [](const Run& a, const Run& b) { return std::pair(a.first, a.index) < std::pair(b.first, b.index); });
  for (std::int64_t i = 1; i < runs; ++i) {
    const Run& a = sorted.data()[i - 1];
    const Run& b = sorted.data()[i];
    if (a.first + a.count > b.first) refuse_repeat(where, a, b);
  }
}

}  // namespace posenc::cpu
