// attend() of posenc/attend.h: which queries and keys make a task, and which thread does it. Prefill: blocks of queries
// of a KV head. Decode: few queries, so the keys are cut as well (Flash-Decoding) and the parts joined by their
// log-sum-exp.
//
// The loop over tiles: cpu/attend/attend_unit.h. Reference: src/reference/attend.cpp. Design: docs/attention.md.
#include "posenc/attend.h"

#include <algorithm>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/arena.h"
#include "cpu/attend/attend_unit.h"
#include "cpu/attend/check_attend_call.h"
#include "cpu/attend/kept_angles.h"
#include "cpu/attend/kept_layer.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"
#include "cpu/machine/dispatch.h"
#include "posenc/error.h"
#include "posenc/prepared_layer.h"

namespace posenc::inline v0_2 {
namespace {

using cpu::index;
using cpu::run_tasks;
using cpu::threads_of;

// Keys of one task where queries are few: the cuts follow from the lengths alone, so no result depends on the threads.
constexpr std::int64_t kSplitKeys = 1024;
constexpr std::int64_t kNoState = -1;

// A task: a unit (a block of queries of a KV head) over some of its keys. Prefill has all keys in one; decode several.
struct Pass {
  std::size_t unit;
  std::int64_t first;  // keys
  std::int64_t end;
  std::int64_t state;  // where its sums are among all parts', where a unit has several
};

// All tasks of a call, and the units whose parts are joined after them (as Flash-Decoding's second kernel does).
struct Passes {
  std::vector<cpu::AttendUnit> units;
  std::vector<Pass> tasks;
  std::vector<Pass> joins;  // first and end: tasks of the unit
  std::int64_t states = 0;  // floats
};

// Parts of kSplitKeys keys that a sequence has.
std::int64_t parts_of(const math::SequenceRows& s) { return (s.k_count + kSplitKeys - 1) / kSplitKeys; }

// Heads that share a pass over the keys where queries are few: as many as leave each thread two tasks.
std::int64_t decode_heads(const cpu::AttendCall& call, std::int64_t threads) {
  std::int64_t parts = 0;
  for (const math::SequenceRows& s : call.rows.sequences) {
    if (s.q_count <= cpu::kDecodeQueries) parts += call.runs_backwards ? 1 : parts_of(s);
  }
  std::int64_t heads = call.layer.kv_heads;
  const auto leaves_some = [&] { return threads == 1 || parts * (call.layer.kv_heads / heads) / 2 >= threads; };
  while (heads > 1 && (call.layer.kv_heads % heads != 0 || !leaves_some())) --heads;
  return heads;
}

// Which tasks there are: decode is cut into parts of kSplitKeys keys unless a term sums along the row (CoPE).
Passes passes_of(const cpu::AttendCall& call, std::int64_t threads) {
  Passes out{.units = cpu::attend_units(call, decode_heads(call, threads)), .tasks = {}, .joins = {}};
  // Units with the most keys first: what is left at the end is small.
  for (std::size_t u = out.units.size(); u-- > 0;) {
    const math::SequenceRows& s = call.rows.sequences[out.units[u].sequence];
    const bool is_split = !call.runs_backwards && s.q_count <= cpu::kDecodeQueries && parts_of(s) > 1;
    if (!is_split) {
      out.tasks.push_back({u, 0, s.k_count, kNoState});
      continue;
    }
    const auto first = std::ssize(out.tasks);
    for (std::int64_t key = 0; key < s.k_count; key += kSplitKeys) {
      out.tasks.push_back({u, key, std::min(key + kSplitKeys, s.k_count), out.states});
      out.states += cpu::state_size(call, out.units[u]);
    }
    out.joins.push_back({u, first, std::ssize(out.tasks), kNoState});
  }
  return out;
}

// Each head asks for its queries', each unit for those of the keys that its queries may see, at most. Beside few
// queries, whose keys are rotated by steps or once, nothing is kept.
cpu::AskedRows asked_rows(const cpu::AttendCall& call, const Passes& all) {
  const Mask& mask = call.layer.mask;
  cpu::AskedRows out;
  for (const cpu::AttendUnit& unit : all.units) {
    const math::SequenceRows& s = call.rows.sequences[unit.sequence];
    if (s.q_count <= cpu::kDecodeQueries) continue;
    std::int64_t seen = s.k_count;
    // Orders that are given may be any keys'.
    if (mask.window && call.args.inputs.k_order.empty()) {
      const auto most = static_cast<double>(mask.window->past) + static_cast<double>(mask.window->future);
      if (most < static_cast<double>(seen - unit.rows)) seen = mask.window->past + mask.window->future + unit.rows;
    }
    if (mask.chunk && call.args.inputs.k_order.empty()) seen = std::min(seen - unit.rows, *mask.chunk) + unit.rows;
    out.queries += unit.rows * unit.kv_heads * call.group;
    out.keys += seen * unit.kv_heads;
  }
  return out;
}

// One worker for each thread that has something to do.
std::int64_t workers_of(const AttendArgs& args, const Passes& all) {
  return std::min<std::int64_t>(threads_of(args.parallel), std::ssize(all.tasks));
}

// Constructs one worker against a counter instead of memory. Its size follows from widths, not from lengths.
std::int64_t scratch_bytes(const cpu::AttendCall& call, const AttendArgs& args, const Passes& all) {
  if (all.tasks.empty()) return 0;
  cpu::ArenaSize size;
  const std::function<bool()> nobody;
  cpu::KeepGoing keep_going(nobody);
  const cpu::FarTiles none;
  const cpu::AttendWorker worker(call, all.units, none, keep_going, &size);
  return workers_of(args, all) * size.bytes() + cpu::kArenaAlignment;
}

// All from one memory, one after another, on the calling thread.
std::vector<cpu::AttendWorker> make_workers(const cpu::AttendCall& call, const AttendArgs& args, const Passes& all,
                                            const cpu::FarTiles& far, cpu::KeepGoing& keep_going,
                                            std::pmr::memory_resource* memory) {
  std::vector<cpu::AttendWorker> out;
  const std::int64_t count = workers_of(args, all);
  out.reserve(index(count));
  for (std::int64_t w = 0; w < count; ++w) out.emplace_back(call, all.units, far, keep_going, memory);
  return out;
}

using KeptTerms = std::span<const cpu::TermVectors>;

bool is_quantised(const AttendArgs& args) { return !args.k_quantised.empty() || !args.v_quantised.empty(); }

// The arguments with shapes of k and v in place of codes, for all that looks at shapes.
AttendArgs with_shapes(const AttendArgs& args) {
  AttendArgs out = args;
  const auto show = [](const char* plain, ConstTensorView& x, const char* name, const ConstQuantisedView& codes) {
    if (codes.empty()) return;
    if (!x.empty()) throw Error("attend", {plain, formatted("be omitted where {} is given", name), "given"});
    x = cpu::shape_of(codes);
  };
  show("k", out.k, "k_quantised", args.k_quantised);
  show("v", out.v, "v_quantised", args.v_quantised);
  return out;
}

// `kept` are the floats of a prepared layer, one entry a term, or nothing.
cpu::AttendCall checked_call(const LayerPlan& layer, const AttendArgs& args, KeptTerms kept) {
  const math::CallSizes sizes = cpu::check_attend_call(layer, args);
  return cpu::attend_call(layer, args, sizes, cpu::kernels_for("attend", args.isa), kept);
}

// With the checks of a call, since widths and tasks follow from its tensors.
std::int64_t scratch_bytes_of(const LayerPlan& layer, const AttendArgs& args, KeptTerms kept) {
  const cpu::AttendCall call = checked_call(layer, args, kept);
  return scratch_bytes(call, args, passes_of(call, threads_of(args.parallel)));
}

std::int64_t scratch_bytes(const LayerPlan& layer, const AttendArgs& args, KeptTerms kept) {
  return is_quantised(args) ? scratch_bytes_of(layer, with_shapes(args), kept) : scratch_bytes_of(layer, args, kept);
}

// The call: check, lower, keep angles, then tasks by whichever thread is free, then joins. The tasks allocate
// nothing.
bool attend_of(const LayerPlan& layer, const AttendArgs& args, KeptTerms kept) {
  cpu::AttendCall call = checked_call(layer, args, kept);
  const Passes all = passes_of(call, threads_of(args.parallel));
  if (args.work != nullptr) *args.work = {};
  if (all.tasks.empty()) return true;
  cpu::KeepGoing keep_going(args.keep_going);
  cpu::keep_angles(call, asked_rows(call, all), keep_going);
  const cpu::FarTiles far(call);
  cpu::Arena arena(args.scratch);
  cpu::CallHeap heap;
  std::vector<cpu::AttendWorker> workers;
  try {
    std::pmr::memory_resource* memory = &arena;
    if (args.scratch.empty()) memory = &heap;
    workers = make_workers(call, args, all, far, keep_going, memory);
  } catch (const cpu::ArenaIsFull&) {
    throw Error("attend", {"scratch", formatted("have at least {} bytes", scratch_bytes(call, args, all)),
                           formatted("{}", args.scratch.size())});
  }
  // The sums of all parts of decode; each task writes its own, and the joins read them in the order of the keys.
  const auto states = std::make_unique_for_overwrite<float[]>(index(all.states));
  run_tasks(args.parallel, workers, std::ssize(all.tasks), [&](cpu::AttendWorker& worker, std::int64_t n) noexcept {
    if (keep_going.is_stopped()) return;
    const Pass& task = all.tasks[index(n)];
    worker.begin(all.units[task.unit]);
    worker.pass_over(all.units[task.unit], task.first, task.end);
    if (task.state == kNoState) return worker.finish();
    worker.save(states.get() + task.state);
  });
  run_tasks(args.parallel, workers, std::ssize(all.joins), [&](cpu::AttendWorker& worker, std::int64_t n) noexcept {
    if (keep_going.is_stopped()) return;
    const Pass& join = all.joins[index(n)];
    worker.begin(all.units[join.unit]);
    for (std::int64_t part = join.first; part < join.end; ++part) {
      worker.join(states.get() + all.tasks[index(part)].state);
    }
    worker.finish();
  });
  if (!keep_going.answer()) return false;
  if (args.work == nullptr) return true;
  for (const cpu::AttendWorker& worker : workers) {
    args.work->tiles += worker.work.tiles;
    args.work->skipped += worker.work.skipped;
  }
  return true;
}

bool attend(const LayerPlan& layer, const AttendArgs& args, KeptTerms kept) {
  if (!is_quantised(args)) return attend_of(layer, args, kept);
  return attend_of(layer, with_shapes(args), kept);
}

}  // namespace

std::string_view name(Products products) noexcept {
  switch (products) {
    case Products::f32: return "f32";
    case Products::bf16: return "bf16";
  }
  return "unknown";
}

std::int64_t attend_scratch_bytes(const LayerPlan& layer, const AttendArgs& args) {
  return scratch_bytes(layer, args, {});
}

std::int64_t attend_scratch_bytes(const PreparedLayer& prepared, const AttendArgs& args) {
  const cpu::KeptLayer& kept = cpu::KeptLayerAccess::kept(prepared);
  return scratch_bytes(kept.layer, cpu::with_kept("attend", kept, args), kept.terms);
}

bool attend(const LayerPlan& layer, const AttendArgs& args) { return attend(layer, args, {}); }

bool attend(const PreparedLayer& prepared, const AttendArgs& args) {
  const cpu::KeptLayer& kept = cpu::KeptLayerAccess::kept(prepared);
  return attend(kept.layer, cpu::with_kept("attend", kept, args), kept.terms);
}

}  // namespace posenc::inline v0_2
