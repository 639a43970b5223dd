// rotate_into_cache_backward() of posenc/cache/backward.h: rows of gradients (row_gradients.h), shared among threads in
// parts that depend on the tokens alone; each part has sums of its own for the norm, which are added up in order.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/backward/check_gradients.h"
#include "cpu/cache/row_gradients.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_floats.h"
#include "cpu/call/row_runs.h"
#include "cpu/machine/dispatch.h"
#include "cpu/rotate/rotate_block.h"
#include "math/learned_tensors.h"
#include "posenc/cache/backward.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr const char* kCacheBackward = "rotate_into_cache_backward";
constexpr std::int64_t kMostParts = 256;

// rotate_into_cache's arguments: what it wrote is read here, and v is where d_v will be. Nothing is written through it.
CacheArgs cache_args_of(const CacheBackwardArgs& args) {
  return {.k = args.k,
          .v = args.d_v,
          .positions = args.positions,
          .table = args.table,
          .norm = args.norm,
          .k_cache = written_view(args.d_k_cache),
          .v_cache = written_view(args.d_v_cache),
          .slots = args.slots,
          .cu_seqlens = args.cu_seqlens,
          .tables = args.tables,
          .parallel = args.parallel,
          .isa = args.isa};
}

bool is_of_a_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// What stands for v and the caches, by its own name.
std::string with_own_names(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_of_a_name);
    const std::string word(text.begin() + static_cast<std::ptrdiff_t>(at), end);
    if (word == "v" || word == "k_cache" || word == "v_cache") out += "d_";
    out += word.empty() ? text.substr(at, 1) : word;
    at += std::max<std::size_t>(1, word.size());
  }
  return out;
}

CacheCall check_forward(const CacheArgs& args) {
  try {
    return check_cache(kCacheBackward, args);
  } catch (const Error& error) {
    Problem problem = error.problem();
    problem.field = with_own_names(problem.field);
    problem.must = with_own_names(problem.must);
    throw Error(kCacheBackward, problem);
  }
}

void check_norm_gradient(const char* field, const TensorView& d, const ConstTensorView& of) {
  constexpr std::array kAny{DType::f32, DType::f16, DType::bf16, DType::f64};
  math::check_gradient(kCacheBackward, field, d, of, kAny);
  require_aligned(kCacheBackward, field, d);
  if (d.empty() || size_of(d) < 2) return;
  if (d.strides[static_cast<std::size_t>(d.rank - 1)] != 1 || (d.rank == 2 && d.strides[0] != d.shape[1])) {
    throw Error(kCacheBackward, {formatted("{}.strides", field), "leave elements adjacent", "otherwise"});
  }
}

void check_backward(const CacheBackwardArgs& args) {
  const KeyNorm none{};
  const KeyNorm& norm = args.norm ? *args.norm : none;
  check_heads_gradient(kCacheBackward, "d_k", args.d_k, args.k);
  check_norm_gradient("d_norm_weight", args.d_norm_weight, norm.weight);
  check_norm_gradient("d_norm_bias", args.d_norm_bias, norm.bias);
  const NamedTensors written{
      {"d_k", args.d_k}, {"d_v", args.d_v}, {"d_norm_weight", args.d_norm_weight}, {"d_norm_bias", args.d_norm_bias}};
  const NamedTensors read{{"d_k_cache", args.d_k_cache},
                          {"d_v_cache", args.d_v_cache},
                          {"k", args.k},
                          {"norm.weight", norm.weight},
                          {"norm.bias", norm.bias}};
  check_written_apart(kCacheBackward, written, read);
}

// Of a tensor that has been checked; where it has no elements, or is omitted, nothing is written.
HeadsView written_heads_of(const char* field, const TensorView& x, std::int64_t channels) {
  if (x.empty() || !has_elements(x)) return {};
  HeadsMemory memory;
  return check_heads({kCacheBackward, field}, x, {kCacheBackward, ""}, {}, channels, Axes::heads_then_tokens, memory);
}

// Sums of a norm's weight, or bias, by part.
class PartSums {
 public:
  PartSums(const TensorView& d, std::int64_t parts)
      : d_(d), size_(d.empty() ? 0 : size_of(d)), sums_(static_cast<std::size_t>(size_ * parts)) {}

  double* of(std::int64_t part) { return d_.empty() ? nullptr : sums_.data() + part * size_; }

  void write(const kernels::KernelTable& kernels) const {
    if (size_ == 0) return;
    std::vector<double> all(static_cast<std::size_t>(size_));
    for (std::size_t n = 0; n < sums_.size(); ++n) all[n % all.size()] += sums_[n];
    if (d_.dtype == DType::f64) {
      std::ranges::copy(all, static_cast<double*>(d_.data));
      return;
    }
    std::vector<float> rounded(all.size());
    std::ranges::transform(all, rounded.begin(), [](double x) { return static_cast<float>(x); });
    write_floats(kernels, rounded.data(), size_, element_of(d_.dtype), d_.data);
  }

 private:
  const TensorView& d_;
  std::int64_t size_;
  std::vector<double> sums_;
};

// Rows begin .. end - 1: by runs of one table where keys rotate, else by so many tokens.
template <typename Run>
void for_runs_of(const CacheCall& cache, RotateBlock* block, std::int64_t begin, std::int64_t end, const Run& run) {
  if (block == nullptr) {
    for (; begin < end; begin += RowGradients::kTokens) {
      run(begin, std::min(RowGradients::kTokens, end - begin), nullptr);
    }
    return;
  }
  const std::int64_t step = std::min(RowGradients::kTokens, block->rows());
  for_runs(cache.rotating, cache.rows, begin, end, step, [&](std::int64_t s, std::int64_t first, std::int64_t count) {
    block->fill(s, first, count);
    run(sequence(cache.rotating, cache.rows, s).first + first, count, block->cos());
  });
}

bool passed_back(const CacheBackwardArgs& args) {
  const CacheArgs forward = cache_args_of(args);
  const CacheCall cache = check_forward(forward);
  check_backward(args);
  const kernels::KernelTable& kernels = kernels_for(kCacheBackward, args.isa);
  const CacheBackwardCall call{args, cache, written_heads_of("d_k", args.d_k, cache.head_dim),
                               written_heads_of("d_v", args.d_v, cache.value_dim)};
  const auto tokens = static_cast<std::int64_t>(args.slots.size());
  const std::int64_t runs = (tokens + RowGradients::kTokens - 1) / RowGradients::kTokens;
  const std::int64_t tokens_of_part =
      RowGradients::kTokens * std::max<std::int64_t>(1, (runs + kMostParts - 1) / kMostParts);
  const std::int64_t parts = (tokens + tokens_of_part - 1) / tokens_of_part;
  PartSums d_weight(args.d_norm_weight, parts);
  PartSums d_bias(args.d_norm_bias, parts);
  KeepGoing keep_going(args.keep_going);
  const auto pass = [&](std::int64_t begin, std::int64_t end) {
    RowGradients rows(call, kernels);
    std::optional<RotateBlock> block;
    if (cache.rotates) block.emplace(cache.rotating, cache.rows, kernels);
    PacedKeepGoing may(keep_going);
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * tokens_of_part;
      for_runs_of(cache, block ? &*block : nullptr, first, std::min(tokens, first + tokens_of_part),
                  [&](std::int64_t row, std::int64_t count, const float* const* cos) {
                    if (!may(count * bytes_of_row(cache.rows, cache.bytes))) return;
                    rows.pass_back(row, count, cos, d_weight.of(part), d_bias.of(part));
                  });
    }
  };
  if (tokens > 0 && (call.reads_keys() || call.d_v.to != nullptr)) {
    const std::int64_t bytes_of_part = std::max<std::int64_t>(1, cache.bytes / parts);
    const std::int64_t grain = std::max<std::int64_t>(1, kBytesOfAThread / bytes_of_part);
    const bool here = RowGradients::allocates(call) || (cache.rotates && RotateBlock::allocates(cache.rotating));
    if (here) {
      pass(0, parts);
    } else {
      parallel_for(args.parallel, parts, grain,
                   [&](std::int64_t begin, std::int64_t end) noexcept { pass(begin, end); });
    }
  }
  if (!keep_going.answer()) return false;
  d_weight.write(kernels);
  d_bias.write(kernels);
  return true;
}

}  // namespace
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

bool rotate_into_cache_backward(const CacheBackwardArgs& args) { return cpu::passed_back(args); }

}  // namespace posenc::inline v0_2
