// Checks of rotate_into_cache: shapes of k, v and the caches (contiguous or paged), the norm, positions and tables as
// for rotate, slots, and that no element that is written is read or written twice.
#include "cpu/cache/check_cache.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/cache/check_slots.h"
#include "cpu/cache/plain_cache_call.h"
#include "cpu/call/tensor_memory.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// The checks of written tensors serve read ones as well.
TensorView as_written(const ConstTensorView& x) {
  return {const_cast<void*>(x.data), x.dtype, x.rank, x.shape, x.strides};
}

// Of a view whose rank has not been looked at.
std::int64_t last_size(const ConstTensorView& x) {
  return x.rank > 0 && x.rank <= kMaxRank ? x.shape[static_cast<std::size_t>(x.rank - 1)] : 0;
}

// Axes of [tokens, heads, channels] and [batch, heads, tokens, channels].
std::size_t token_axis(const ConstTensorView& x) { return x.rank == 4 ? 2 : 0; }

class CacheCheck {
 public:
  CacheCheck(std::string_view where, const CacheArgs& args, CacheCall& call)
      : where_(where), args_(args), call_(call) {}

  void run() {
    call_.rotates = args_.table != nullptr || !args_.tables.empty();
    if (args_.k.empty()) refuse("k", "be given", "omitted");
    if (args_.v.empty() != args_.v_cache.empty()) {
      refuse(args_.v.empty() ? "v" : "v_cache", formatted("be given where {} is", args_.v.empty() ? "v_cache" : "v"),
             "omitted");
    }
    check_keys();
    if (!args_.v.empty()) check_values();
    const HeadsView& k = call_.rows.tensors[1];
    if (args_.norm) check_norm(where_, *args_.norm, k.heads, call_.head_dim);
    call_.k_cache = check_one_cache("k_cache", args_.k_cache, "k", args_.k, k_cache_memory_);
    if (!args_.v.empty()) {
      call_.v_cache = check_one_cache("v_cache", args_.v_cache, "v", args_.v, v_cache_memory_);
      check_same_rows();
    }
    check_slots(where_, args_.slots, product(call_.rows.batch, call_.rows.rows), rows_of_cache());
    check_apart();
    count_bytes();
  }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) const {
    throw Error(where_, {std::move(field), std::move(must), std::move(is)});
  }

  // k, as tensors of rotate are checked; where nothing rotates, by itself.
  void check_keys() {
    call_.rotating = {.k = as_written(args_.k),
                      .positions = args_.positions,
                      .table = args_.table,
                      .tables = args_.tables,
                      .parallel = args_.parallel,
                      .isa = args_.isa};
    call_.head_dim = last_size(args_.k);
    if (call_.rotates) {
      call_.rotating.cu_seqlens = args_.cu_seqlens;
      call_.rows = check_rotate(where_, call_.rotating);
      return;
    }
    check_parallel(where_, args_.parallel);
    HeadsMemory memory;
    RotateCall& rows = call_.rows;
    rows.tensors[1] =
        check_heads({where_, "k"}, call_.rotating.k, {where_, ""}, {}, call_.head_dim, Axes::heads_then_tokens, memory);
    rows.batch = args_.k.rank == 4 ? args_.k.shape[0] : 1;
    rows.rows = args_.k.shape[token_axis(args_.k)];
    rows.sequences = rows.batch;
  }

  void check_values() {
    const ConstTensorView& k = args_.k;
    const ConstTensorView& v = args_.v;
    if (v.rank != k.rank) refuse("v.rank", formatted("be that of k, {},", k.rank), formatted("{}", v.rank));
    for (const std::size_t axis : {std::size_t{0}, token_axis(k)}) {
      if (v.shape[axis] == k.shape[axis]) continue;
      refuse(formatted("v.shape[{}]", axis), formatted("be that of k, {},", k.shape[axis]),
             formatted("{}", v.shape[axis]));
    }
    call_.value_dim = last_size(v);
    call_.v = check_heads({where_, "v"}, as_written(v), {where_, ""}, {}, call_.value_dim, Axes::heads_then_tokens,
                          v_memory_);
  }

  // That heads of `from` have a place in it.
  HeadsView check_one_cache(const char* name, const TensorView& cache, const char* from_name,
                            const ConstTensorView& from, HeadsMemory& memory) const {
    if (cache.empty()) refuse(name, "be given", "omitted");
    if (cache.rank != 3 && cache.rank != 4) {
      refuse(formatted("{}.rank", name), "be 3, [rows, heads, head_dim], or 4, [blocks, block_size, heads, head_dim],",
             formatted("{}", cache.rank));
    }
    const auto heads = static_cast<std::size_t>(cache.rank - 2);
    const std::array<std::int64_t, 2> wanted{from.shape[1], last_size(from)};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (cache.shape[heads + i] == wanted[i]) continue;
      refuse(formatted("{}.shape[{}]", name, heads + i),
             formatted("be the {} of {}, {},", i == 0 ? "heads" : "channels", from_name, wanted[i]),
             formatted("{}", cache.shape[heads + i]));
    }
    HeadsView out = check_heads({where_, name}, cache, {where_, ""}, {}, wanted[1],
                                cache.rank == 4 ? Axes::tokens_then_heads : Axes::heads_then_tokens, memory);
    if (cache.rank == 4) out.block_size = cache.shape[1];
    return out;
  }

  // Slots are rows of both caches.
  void check_same_rows() const {
    const TensorView& k = args_.k_cache;
    const TensorView& v = args_.v_cache;
    if (v.rank != k.rank) refuse("v_cache.rank", formatted("be that of k_cache, {},", k.rank), formatted("{}", v.rank));
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(k.rank - 2); ++axis) {
      if (v.shape[axis] == k.shape[axis]) continue;
      refuse(formatted("v_cache.shape[{}]", axis), formatted("be that of k_cache, {},", k.shape[axis]),
             formatted("{}", v.shape[axis]));
    }
  }

  // Of sizes: no memory holds more rows than fit 64 bits, unless a row has no elements.
  static std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
  }

  std::int64_t rows_of_cache() const {
    const TensorView& k = args_.k_cache;
    return k.rank == 4 ? product(k.shape[0], k.shape[1]) : k.shape[0];
  }

  struct Named {
    const char* name;
    Memory memory;
  };

  // The memory of a tensor that is only read; of one without elements, none.
  Named read(const char* name, const ConstTensorView& x) const {
    const auto end = x.shape.begin() + x.rank;
    const bool has_elements = !x.empty() && std::find(x.shape.begin(), end, 0) == end;
    return {name, has_elements ? memory_of(where_, name, x) : Memory{}};
  }

  static bool meet(const Named& a, const Named& b) { return !are_disjoint(a.memory, b.memory); }

  // What is written shares nothing with what is read, nor with itself.
  void check_apart() const {
    const Named k_cache{"k_cache", k_cache_memory_.written};
    const Named v_cache{"v_cache", v_cache_memory_.written};
    if (meet(k_cache, v_cache)) refuse("v_cache", "share no element with k_cache", "overlapping");
    const KeyNorm none{};
    const KeyNorm& norm = args_.norm ? *args_.norm : none;
    const std::array reads{read("k", args_.k), Named{"v", v_memory_.written}, read("norm.weight", norm.weight),
                           read("norm.bias", norm.bias)};
    for (const Named* cache : {&k_cache, &v_cache}) {
      for (const Named& x : reads) {
        if (meet(*cache, x)) refuse(cache->name, formatted("share no element with {}", x.name), "overlapping");
      }
    }
  }

  // By which threads are given work: tokens that are not stored count as well.
  void count_bytes() {
    const std::int64_t rows = std::ssize(args_.slots);
    const HeadsView& k = call_.k_cache;
    const HeadsView& v = call_.v_cache;
    if (k.from != nullptr) call_.bytes += rows * k.heads * call_.head_dim * k.element_bytes;
    if (v.from != nullptr) call_.bytes += rows * v.heads * call_.value_dim * v.element_bytes;
  }

  std::string_view where_;
  const CacheArgs& args_;
  CacheCall& call_;
  HeadsMemory v_memory_;
  HeadsMemory k_cache_memory_;
  HeadsMemory v_cache_memory_;
};

}  // namespace

// A plain call is checked by comparisons alone; every other in full, with a message for what is wrong.
CacheCall check_cache(std::string_view where, const CacheArgs& args) {
  CacheCall call;
  if (!is_plain(args)) {
    CacheCheck(where, args, call).run();
    return call;
  }
  check_parallel(where, args.parallel);
  plain_cache_call(args, call);
  if (args.norm) check_norm(where, *args.norm, call.k_cache.heads, call.head_dim);
  return call;
}

}  // namespace posenc::cpu
