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
    check_one_of("k_cache", args_.k_cache, "k_quantised", args_.k_quantised);
    check_one_of("v_cache", args_.v_cache, "v_quantised", args_.v_quantised);
    if (args_.v.empty() != (args_.v_cache.empty() && args_.v_quantised.empty())) {
      const char* const cache = args_.v_quantised.empty() ? "v_cache" : "v_quantised";
      refuse(args_.v.empty() ? "v" : cache, formatted("be given where {} is", args_.v.empty() ? cache : "v"),
             "omitted");
    }
    check_keys();
    if (!args_.v.empty()) check_values();
    const HeadsView& k = call_.rows.tensors[1];
    if (args_.norm) check_norm(where_, *args_.norm, k.heads, call_.head_dim);
    call_.k_cache = args_.k_quantised.empty()
                        ? check_one_cache("k_cache", args_.k_cache, "k", args_.k, k_cache_memory_)
                        : check_codes("k_quantised", args_.k_quantised, "k", args_.k, call_.k_codes, k_codes_memory_);
    if (!args_.v.empty()) {
      call_.v_cache = args_.v_quantised.empty()
                          ? check_one_cache("v_cache", args_.v_cache, "v", args_.v, v_cache_memory_)
                          : check_codes("v_quantised", args_.v_quantised, "v", args_.v, call_.v_codes, v_codes_memory_);
      if (!args_.v_quantised.empty() && call_.v_codes.by_channel()) {
        refuse("v_quantised.format", "have scales by token, since int4_by_channel is for keys,", "int4_by_channel");
      }
      check_same_rows();
    }
    check_slots(where_, args_.slots, product(call_.rows.batch, call_.rows.rows), rows_of_cache());
    if (!args_.k_quantised.empty() && call_.k_codes.by_channel()) check_groups(call_.k_codes.group);
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

  void check_one_of(const char* plain, const TensorView& x, const char* quantised, const QuantisedView& codes) const {
    if (!x.empty() && !codes.empty()) refuse(plain, formatted("be omitted where {} is given", quantised), "given");
  }

  // That heads of `from` have a place in a cache of this shape.
  void check_room(const char* name, const std::array<std::int64_t, kMaxRank>& shape, int rank, const char* from_name,
                  const ConstTensorView& from) const {
    if (rank != 3 && rank != 4) {
      refuse(formatted("{}.rank", name), "be 3, [rows, heads, head_dim], or 4, [blocks, block_size, heads, head_dim],",
             formatted("{}", rank));
    }
    const auto heads = static_cast<std::size_t>(rank - 2);
    const std::array<std::int64_t, 2> wanted{from.shape[1], last_size(from)};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (shape[heads + i] == wanted[i]) continue;
      refuse(formatted("{}.shape[{}]", name, heads + i),
             formatted("be the {} of {}, {},", i == 0 ? "heads" : "channels", from_name, wanted[i]),
             formatted("{}", shape[heads + i]));
    }
  }

  HeadsView check_codes(const char* name, const QuantisedView& cache, const char* from_name,
                        const ConstTensorView& from, CodesView& codes, CodesMemory& memory) const {
    check_room(name, cache.shape, cache.rank, from_name, from);
    codes = check_quantised({where_, name}, cache, Axes::tokens_then_heads, memory);
    for (const Memory& own : memory.of) {
      if (own.bytes > 0) check_places(where_, name, own);
    }
    for (std::size_t n = 1; n < memory.of.size(); ++n) {
      for (std::size_t before = 0; before < n; ++before) {
        if (are_disjoint(memory.of[n], memory.of[before])) continue;
        refuse(name, "have codes, scales and zeros apart from one another", "overlapping");
      }
    }
    HeadsView out{.to = codes.rows.data, .element_bytes = 1, .heads = codes.heads};
    const bool has_rows = codes.batch > 0 && codes.tokens > 0 && codes.heads > 0 && codes.channels > 0;
    if (has_rows) out.from = codes.rows.data;
    if (cache.rank == 4) out.block_size = codes.tokens;
    out.to_strides = {codes.rows.batch_stride, codes.rows.row_stride, codes.rows.head_stride};
    return out;
  }

  // Scales by channel are made of all tokens of a group at once.
  void check_groups(std::int64_t group) const {
    const std::span<const std::int64_t> slots = args_.slots;
    for (std::int64_t t = 0; t < std::ssize(slots);) {
      const std::int64_t first = slots[static_cast<std::size_t>(t)];
      if (first < 0) {
        ++t;
        continue;
      }
      std::int64_t n = first % group == 0 ? 0 : group;
      while (n < group && t + n < std::ssize(slots) && slots[static_cast<std::size_t>(t + n)] == first + n) ++n;
      if (first % group != 0 || n < group || t + group > std::ssize(slots)) {
        refuse(formatted("slots[{}]", t),
               formatted("begin {} rows of one group, whose scales are made together (keep the tokens of a group that "
                         "is not full in a cache of their own, and merge),",
                         group),
               formatted("row {}, with {} after it", first, first % group != 0 ? 0 : n - 1));
      }
      t += group;
    }
  }

  // That heads of `from` have a place in it.
  HeadsView check_one_cache(const char* name, const TensorView& cache, const char* from_name,
                            const ConstTensorView& from, HeadsMemory& memory) const {
    if (cache.empty()) refuse(name, "be given", "omitted");
    check_room(name, cache.shape, cache.rank, from_name, from);
    HeadsView out = check_heads({where_, name}, cache, {where_, ""}, {}, last_size(from),
                                cache.rank == 4 ? Axes::tokens_then_heads : Axes::heads_then_tokens, memory);
    if (cache.rank == 4) out.block_size = cache.shape[1];
    return out;
  }

  // Slots are rows of both caches.
  void check_same_rows() const {
    const ConstTensorView k = keys_shape();
    const ConstTensorView v = args_.v_quantised.empty() ? args_.v_cache : shape_of(args_.v_quantised);
    const char* const k_name = args_.k_quantised.empty() ? "k_cache" : "k_quantised";
    const char* const v_name = args_.v_quantised.empty() ? "v_cache" : "v_quantised";
    if (v.rank != k.rank) {
      refuse(formatted("{}.rank", v_name), formatted("be that of {}, {},", k_name, k.rank), formatted("{}", v.rank));
    }
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(k.rank - 2); ++axis) {
      if (v.shape[axis] == k.shape[axis]) continue;
      refuse(formatted("{}.shape[{}]", v_name, axis), formatted("be that of {}, {},", k_name, k.shape[axis]),
             formatted("{}", v.shape[axis]));
    }
  }

  // Of sizes: no memory holds more rows than fit 64 bits, unless a row has no elements.
  static std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
  }

  ConstTensorView keys_shape() const { return args_.k_quantised.empty() ? args_.k_cache : shape_of(args_.k_quantised); }

  std::int64_t rows_of_cache() const {
    const ConstTensorView k = keys_shape();
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
    const std::array writes{Named{"k_cache", k_cache_memory_.written},   Named{"k_quantised", k_codes_memory_.of[0]},
                            Named{"k_quantised", k_codes_memory_.of[1]}, Named{"k_quantised", k_codes_memory_.of[2]},
                            Named{"v_cache", v_cache_memory_.written},   Named{"v_quantised", v_codes_memory_.of[0]},
                            Named{"v_quantised", v_codes_memory_.of[1]}, Named{"v_quantised", v_codes_memory_.of[2]}};
    constexpr std::size_t kOfKeys = 4;
    for (std::size_t v = kOfKeys; v < writes.size(); ++v) {
      for (std::size_t k = 0; k < kOfKeys; ++k) {
        if (meet(writes[k], writes[v])) {
          refuse(writes[v].name, formatted("share no element with {}", writes[k].name), "overlapping");
        }
      }
    }
    const KeyNorm none{};
    const KeyNorm& norm = args_.norm ? *args_.norm : none;
    const std::array reads{read("k", args_.k), Named{"v", v_memory_.written}, read("norm.weight", norm.weight),
                           read("norm.bias", norm.bias)};
    for (const Named& cache : writes) {
      for (const Named& x : reads) {
        if (meet(cache, x)) refuse(cache.name, formatted("share no element with {}", x.name), "overlapping");
      }
    }
  }

  // By which threads are given work: tokens that are not stored count as well.
  void count_bytes() {
    const std::int64_t rows = std::ssize(args_.slots);
    const HeadsView& k = call_.k_cache;
    const HeadsView& v = call_.v_cache;
    const auto row = [](const HeadsView& cache, const CodesView& codes, std::int64_t channels) {
      return codes.facts != nullptr ? codes.row_bytes() : channels * cache.element_bytes;
    };
    if (k.from != nullptr) call_.bytes += rows * k.heads * row(k, call_.k_codes, call_.head_dim);
    if (v.from != nullptr) call_.bytes += rows * v.heads * row(v, call_.v_codes, call_.value_dim);
  }

  std::string_view where_;
  const CacheArgs& args_;
  CacheCall& call_;
  HeadsMemory v_memory_;
  HeadsMemory k_cache_memory_;
  HeadsMemory v_cache_memory_;
  CodesMemory k_codes_memory_;
  CodesMemory v_codes_memory_;
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
