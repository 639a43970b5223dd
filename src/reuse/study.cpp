// study_cache(): layers by what they cache and what may be done with it, in each format.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "posenc/cache/study_cache.h"
#include "posenc/error.h"
#include "reuse/formats.h"
#include "reuse/layer_traits.h"
#include "reuse/simulate.h"
#include "reuse/verdict.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kStudy = "study_cache";
constexpr std::int64_t kMostShift = std::int64_t{1} << 20U;
constexpr std::int64_t kMostChannels = 4096;  // of a head whose keys are drawn and shifted

std::int64_t product(std::int64_t heads, std::int64_t channels) {
  std::int64_t out = 0;
  if (heads >= 0 && channels >= 0 && !__builtin_mul_overflow(heads, channels, &out)) return out;
  throw Error(kStudy, {"layer", "have numbers of a token below 2^63", formatted("{} heads of {}", heads, channels)});
}

// What is said of latent attention where a plan's sources say so: its heads are read expanded.
bool is_expanded(const Plan& plan, std::size_t stack) {
  const std::string where = formatted("/stacks/{}/", stack);
  return std::ranges::any_of(plan.sources, [&](const ValueSource& source) {
    return source.where.starts_with(where) && source.from.find("latent attention, expanded") != std::string::npos;
  });
}

std::vector<KvFormatBytes> bytes_of(const LayerPlan& layer) {
  std::vector<KvFormatBytes> out;
  for (std::int64_t f = 0; f < kKvFormats; ++f) {
    const auto format = static_cast<KvFormat>(f);
    const std::optional<double> key = reuse::bytes_of_head(format, layer.head_dim);
    const std::optional<double> value = reuse::bytes_of_head(format, layer.value_dim);
    const auto heads = static_cast<double>(layer.kv_heads);
    out.push_back({format, key && value ? std::optional(heads * (*key + *value)) : std::nullopt});
  }
  return out;
}

// Whether the same is to be said, however many layers are below.
bool alike(const ReuseVerdict& a, const ReuseVerdict& b) {
  const auto same_reach = [](const std::optional<std::int64_t>& x, const std::optional<std::int64_t>& y) {
    return x.has_value() == y.has_value() && (x == 0) == (y == 0);
  };
  return a.reuse == b.reuse && a.period == b.period && same_reach(a.reach, b.reach) &&
         std::ranges::equal(a.reasons, b.reasons, {}, &ReuseReason::fact, &ReuseReason::fact);
}

bool alike(const std::vector<OperationVerdict>& a, const std::vector<OperationVerdict>& b) {
  return std::ranges::equal(
      a, b, [](const OperationVerdict& x, const OperationVerdict& y) { return alike(x.verdict, y.verdict); });
}

CacheGroup group_of(const Plan& plan, std::size_t stack, const LayerPlan& layer) {
  const reuse::LayerTraits traits = reuse::traits_of(layer);
  CacheGroup out{.layers = {}, .kind = layer.kind, .kept = traits.window, .owner = layer.kv_from};
  if (traits.keeps != reuse::Keeps::state && !layer.kv_from) {
    out.keys = product(layer.kv_heads, layer.head_dim);
    out.values = product(layer.kv_heads, layer.value_dim);
    out.bytes = bytes_of(layer);
    out.expanded = is_expanded(plan, stack);
  }
  return out;
}

class Groups {
 public:
  Groups(const Plan& plan, std::size_t stack, const CacheStudyOptions& options)
      : plan_(plan), stack_(stack), options_(options), reader_(plan, stack, nullptr) {}

  void add(std::size_t layer, std::size_t run) {
    std::vector<OperationVerdict> verdicts;
    for (std::int64_t o = 0; o < kCacheOperations; ++o) {
      const auto operation = static_cast<CacheOperation>(o);
      const reuse::Reader* reader = operation == CacheOperation::share ? &reader_ : nullptr;
      for (const StoredKeys keys : {StoredKeys::unrotated, StoredKeys::rotated}) {
        verdicts.push_back({operation, keys, reuse::verdict_of(plan_, stack_, layer, operation, keys, reader)});
      }
    }
    std::size_t g = 0;
    while (g < groups_.size() && (runs_[g] != run || !alike(groups_[g].verdicts, verdicts))) ++g;
    const LayerPlan& own = plan_.stacks[stack_].layers[layer];
    if (g == groups_.size()) {
      groups_.push_back(group_of(plan_, stack_, own));
      if (options_.simulate) groups_.back().shifts = shifts_of(own);
      runs_.push_back(run);
    }
    groups_[g].layers.layers.push_back(static_cast<std::int64_t>(layer));
    groups_[g].layers.blocks.push_back(own.index);
    groups_[g].verdicts = std::move(verdicts);
  }
  std::vector<CacheGroup> take() { return std::move(groups_); }

 private:
  // Of one rotation once, however many groups have it.
  std::vector<SimulatedShifts> shifts_of(const LayerPlan& layer) {
    const auto main = std::ranges::find(layer.rotate, RotateRole::main, &Rotate::role);
    if (main == layer.rotate.end() || rope(*main).head_dim > kMostChannels) return {};
    for (const auto& [known, shifts] : simulated_) {
      if (known == rope(*main)) return shifts;
    }
    simulated_.emplace_back(rope(*main), reuse::simulate(rope(*main), plan_.length, options_.shift_by));
    return simulated_.back().second;
  }

  const Plan& plan_;
  std::size_t stack_;
  const CacheStudyOptions& options_;
  reuse::Reader reader_;
  std::vector<CacheGroup> groups_;
  std::vector<std::pair<Rope, std::vector<SimulatedShifts>>> simulated_;
  std::vector<std::size_t> runs_;  // of layers that are equal, which each group is of
};

bool is_of_encoder(const CacheGroup& group) { return group.kind == LayerKind::cross_attention; }

// Of cross attention, whose tokens are the encoder's, or of the other layers.
std::vector<KvFormatBytes> sum_of(const std::vector<CacheGroup>& groups, bool of_encoder) {
  std::vector<KvFormatBytes> out;
  for (std::int64_t f = 0; f < kKvFormats; ++f) {
    std::optional<double> sum = 0.0;
    for (const CacheGroup& group : groups) {
      if (group.bytes.empty() || is_of_encoder(group) != of_encoder) continue;
      const std::optional<double>& one = group.bytes[static_cast<std::size_t>(f)].bytes;
      sum = sum && one ? std::optional(*sum + *one * static_cast<double>(group.layers.layers.size())) : std::nullopt;
    }
    out.push_back({static_cast<KvFormat>(f), sum});
  }
  return out;
}

}  // namespace

CacheStudy study_cache(const Plan& plan, const CacheStudyOptions& options) {
  if (options.shift_by < 1 || options.shift_by > kMostShift) {
    throw Error(kStudy, {"shift_by", "be from 1 to 2^20", formatted("{}", options.shift_by)});
  }
  const std::size_t at = reuse::checked_stack(plan, options.stack);
  const Stack& stack = plan.stacks[at];
  std::vector<std::size_t> run_of(stack.layers.size());
  const std::vector<LayerRun> runs = layer_runs(stack);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const std::int64_t layer : runs[r].layers) run_of[static_cast<std::size_t>(layer)] = r;
  }
  Groups groups(plan, at, options);
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    if (reuse::caches(stack.layers[l])) groups.add(l, run_of[l]);
  }
  CacheStudy out{.model = plan.source.name, .stack = stack.name, .groups = groups.take()};
  out.bytes = sum_of(out.groups, false);
  if (std::ranges::any_of(out.groups, is_of_encoder)) out.encoder_bytes = sum_of(out.groups, true);
  if (options.simulate) out.shifts = reuse::simulated_shifts();
  out.shift_by = options.shift_by;
  return out;
}

}  // namespace posenc::inline v0_2
