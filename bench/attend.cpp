// Attention against what limits it: the fraction of the machine's peak FLOP/s (multiply-adds on registers, same
// process), of one query also that of the memory bandwidth with which its keys and values are read, and the time over
// that of the same kernel without positions. Operations are counted exactly: of a causal layer the lower triangle, its
// diagonal included.
//
// usage: bench_attend [PART OF A SHAPE [PART OF A SCHEME]]
//        bench_attend memory [PART OF A SCHEME]              what a call on 131072 tokens takes beside its tensors
#include "posenc/attend.h"

#include <malloc.h>  // malloc_trim: glibc

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "blas_attend.h"
#include "held_memory.h"
#include "huge_memory.h"
#include "multiply_add.h"
#include "posenc/parallel.h"
#include "posenc/prepared_layer.h"
#include "read_memory.h"
#include "taking_turns.h"

namespace {

using posenc::bench::Candidate;
using posenc::bench::HugeMemory;
using posenc::bench::spread;
using posenc::bench::Spread;

constexpr int kRounds = 9;

// queries, keys: tokens; the last query is at the last key. name: what the command line chooses by.
struct Shape {
  std::string name;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  bool causal = true;
  posenc::DType dtype = posenc::DType::f32;
  bool irregular = false;   // a position is skipped after every 61 tokens, so that tables by distance are gathered
  bool spread = false;      // queries stand from the first key to the last, not beside the last
  std::int64_t window = 0;  // keys that a query attends to; 0: all
  posenc::Products products = posenc::Products::f32;
};

// Two multiply-adds (4 operations) for each query head, visible pair of query and key, and channel: QK^T and PV.
// Neither the softmax nor a scheme counts, so a scheme that costs time lowers the fraction of peak.
double operations(const Shape& shape) {
  const auto heads = static_cast<double>(shape.heads * shape.head_dim);
  const auto q = static_cast<double>(shape.queries);
  const auto k = static_cast<double>(shape.keys);
  return 4.0 * heads * (shape.causal ? q * k - q * (q - 1) / 2 : q * k);
}

void fill(const HugeMemory& memory, std::int64_t count, posenc::DType dtype) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    if (dtype == posenc::DType::f32) {
      const float x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
      std::memcpy(memory.data() + 4 * i, &x, sizeof x);
    } else {  // 0.5 .. 1 with either sign
      const auto low = static_cast<std::uint16_t>((state >> 16U) & 0x803FU);
      const auto x = static_cast<std::uint16_t>(low | (dtype == posenc::DType::bf16 ? 0x3F00U : 0x3800U));
      std::memcpy(memory.data() + 2 * i, &x, sizeof x);
    }
  }
}

// Tensors [1, heads, tokens, head_dim] in memory of [tokens, heads, head_dim].
struct Tensors {
  explicit Tensors(const Shape& s)
      : q(static_cast<std::size_t>(s.queries * s.heads * s.head_dim * bytes_of(s.dtype))),
        k(static_cast<std::size_t>(s.keys * s.kv_heads * s.head_dim * bytes_of(s.dtype))),
        v(static_cast<std::size_t>(s.keys * s.kv_heads * s.head_dim * bytes_of(s.dtype))),
        out(static_cast<std::size_t>(s.queries * s.heads * s.head_dim * bytes_of(s.dtype))) {
    fill(q, s.queries * s.heads * s.head_dim, s.dtype);
    fill(k, s.keys * s.kv_heads * s.head_dim, s.dtype);
    fill(v, s.keys * s.kv_heads * s.head_dim, s.dtype);
  }
  HugeMemory q, k, v, out;
};

// Bytes of keys and values, the least that decode must read.
double key_bytes(const Shape& s) {
  return 2.0 * static_cast<double>(s.keys * s.kv_heads * s.head_dim * bytes_of(s.dtype));
}

// Keys, then values, each thread its part of both.
void read_keys(const Shape& s, const Tensors& tensors, int threads) {
  constexpr std::int64_t kChunk = 4096;
  const std::int64_t chunks = static_cast<std::int64_t>(key_bytes(s)) / 2 / kChunk;
  posenc::parallel_for({.threads = threads}, chunks, 1, [&](std::int64_t first, std::int64_t last) noexcept {
    for (const HugeMemory* const memory : {&tensors.k, &tensors.v}) {
      [[maybe_unused]] const volatile std::uint64_t read = posenc::bench::read_memory(
          memory->data() + first * kChunk, static_cast<std::size_t>((last - first) * kChunk));
    }
  });
}

// A row of the table: a layer, its learned tables, what a call is given.
struct Scheme {
  std::string name;
  posenc::LayerPlan layer;
  posenc::LayerWeights weights{};
  posenc::LayerInputs inputs{};
  std::shared_ptr<const posenc::PreparedLayer> kept{};  // instead of layer and weights
};

// No positions: every other scheme is this layer and one thing more.
posenc::LayerPlan plain(const Shape& s) {
  posenc::LayerPlan layer{.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.head_dim, .value_dim = s.head_dim};
  layer.softmax_scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  layer.mask.kind = s.causal ? posenc::MaskKind::causal : posenc::MaskKind::bidirectional;
  if (s.window > 0) layer.mask.window = posenc::Window{.past = s.window};
  return layer;
}

// Learned tables of numbers within `scale` of the middle, kept as long as the process.
posenc::ConstTensorView table(std::initializer_list<std::int64_t> shape, float scale = 0.1F, float middle = 0.0F) {
  static std::deque<std::vector<float>> kept;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<float>& values = kept.emplace_back(static_cast<std::size_t>(count));
  std::uint32_t state = 7;
  for (float& x : values) {
    state = state * 1664525U + 1013904223U;
    x = middle + scale * static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return posenc::tensor(values.data(), shape);
}

// "No positions" first: the others are printed over it. Tables are of the sizes that published models have.
std::vector<Scheme> schemes(const Shape& s) {
  std::vector<Scheme> out{{"no positions", plain(s)}};
  const auto add = [&](const char* name, const posenc::ScoreTerm& term, posenc::ScoreWeights weights) {
    out.push_back({.name = name, .layer = plain(s), .weights = {.score = {std::move(weights)}}});
    out.back().layer.score = {term};
  };
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = s.head_dim, .dim = s.head_dim, .base = 5e5};
  out.push_back({.name = "RoPE on load", .layer = plain(s)});
  out.back().layer.rotate = {posenc::Rotate{.scheme = rope}};
  add("ALiBi", posenc::Alibi{.heads = s.heads}, {});
  add("T5", posenc::T5Bias{.buckets = 32, .max_distance = 128, .bidirectional = false},
      posenc::T5Weights{.table = table({32, s.heads})});
  const std::int64_t after = s.causal ? 0 : s.keys - 1;
  add("learned bias", posenc::ClippedBias{.past = s.keys - 1, .future = after},
      posenc::ClippedBiasWeights{.table = table({s.keys + after, s.heads})});
  add("KERPLE", posenc::Kerple{},
      posenc::KerpleWeights{.r1 = table({s.heads}, 0.4F, 0.5F), .r2 = table({s.heads}, 0.4F, 0.5F)});
  add("Sandwich", posenc::Sandwich{.heads = s.heads}, {});
  add("FoX", posenc::ForgetGate{}, {});
  out.back().inputs.log_forget = table({s.keys, s.heads}, 0.05F, -0.05F);
  const auto linear = [&](std::int64_t outputs, std::int64_t inputs) {
    return posenc::Linear{.weight = table({outputs, inputs}, 1.0F), .bias = table({outputs}, 1.0F)};
  };
  add("FIRE", posenc::Fire{},
      posenc::FireWeights{.c = 0.1, .threshold = 512, .hidden = linear(32, 1), .out = linear(s.heads, 32)});
  add("Shaw's keys", posenc::ShawKeys{.left = 16, .right = 16}, posenc::ShawWeights{.table = table({33, s.head_dim})});
  add("CoPE", posenc::ContextualPosition{.positions = 64}, posenc::CopeWeights{.table = table({64, s.head_dim})});
  add("Transformer-XL", posenc::TransformerXl{},
      posenc::TransformerXlWeights{.projection = table({s.heads * s.head_dim, 64}),
                                   .content_bias = table({s.heads, s.head_dim}),
                                   .position_bias = table({s.heads, s.head_dim})});
  const std::int64_t width = s.heads * s.head_dim;
  add("DeBERTa", posenc::Deberta{.buckets = 256, .max_distance = 512},
      posenc::DebertaWeights{.table = table({512, width}),
                             .keys = {.weight = table({width, width}), .bias = table({width})},
                             .queries = {.weight = table({width, width}), .bias = table({width})}});
  return out;
}

// Matrices of queries and keys that the call gives for all heads: biases that are added; and an attention mask,
// everything or the nearest 256 keys.
void add_matrices(const Shape& s, std::vector<Scheme>& list) {
  // At most 128 MiB of f32 a matrix.
  if (s.queries * s.keys > std::int64_t{1} << 25) return;
  list.push_back({.name = "bias given", .layer = plain(s), .inputs = {.bias = table({s.queries, s.keys})}});
  list.push_back({.name = "attn_mask given, all",
                  .layer = plain(s),
                  .inputs = {.attn_mask = table({s.queries, s.keys}, 0.0F, 1.0F)}});
  const posenc::ConstTensorView near = table({s.queries, s.keys}, 0.0F, 1.0F);
  auto* const of_near = const_cast<float*>(static_cast<const float*>(near.data));
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const std::int64_t first = i + s.keys - s.queries - 255;
    std::fill_n(of_near + i * s.keys, std::max<std::int64_t>(first, 0), 0.0F);
  }
  list.push_back({.name = "attn_mask given, near", .layer = plain(s), .inputs = {.attn_mask = near}});
}

// Those whose weights take work, once more, with that work done before.
void add_kept(const Shape& s, std::vector<Scheme>& list) {
  std::vector<Scheme> out;
  for (Scheme& scheme : list) {
    out.push_back(std::move(scheme));
    const Scheme& given = out.back();
    if (given.layer.score.empty()) continue;
    posenc::PreparedLayer prepared = prepare_layer(given.layer, given.weights, {.max_distance = s.keys});
    if (prepared.bytes() == 0) continue;
    Scheme kept{.name = given.name + ", kept", .layer = given.layer, .inputs = given.inputs};
    kept.kept = std::make_shared<const posenc::PreparedLayer>(std::move(prepared));
    out.push_back(std::move(kept));
  }
  list = std::move(out);
}

posenc::bench::BlasAttend by_blas(const Shape& s, const Tensors& tensors, float* out) {
  const auto floats = [](const HugeMemory& x) { return reinterpret_cast<const float*>(x.data()); };
  return {.q = floats(tensors.q),
          .k = floats(tensors.k),
          .v = floats(tensors.v),
          .out = out,
          .queries = s.queries,
          .keys = s.keys,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim)),
          .causal = s.causal};
}

// A check that both compute the same; the peer has other roundings.
double largest_difference(const HugeMemory& out, const std::vector<float>& other) {
  float most = 0.0F;
  for (std::size_t n = 0; n < other.size(); ++n) {
    float x = 0.0F;
    std::memcpy(&x, out.data() + n * sizeof x, sizeof x);
    most = std::max(most, std::abs(x - other[n]));
  }
  return most;
}

// Of the keys; queries have the last of them.
std::vector<std::int64_t> positions(const Shape& s) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < s.keys; ++n) out.push_back(s.irregular ? n + n / 61 : n);
  return out;
}

// Without scratch: each call asks the heap for its own, as most callers do.
posenc::AttendArgs args_of(const Scheme& scheme, const Shape& shape, const Tensors& tensors,
                           const posenc::Parallel& parallel) {
  const auto tensor_of = [&](const HugeMemory& memory, std::int64_t tokens, std::int64_t heads) {
    return posenc::tensor(static_cast<void*>(memory.data()), shape.dtype, {tokens, heads, shape.head_dim});
  };
  return {.out = tensor_of(tensors.out, shape.queries, shape.heads),
          .q = tensor_of(tensors.q, shape.queries, shape.heads),
          .k = tensor_of(tensors.k, shape.keys, shape.kv_heads),
          .v = tensor_of(tensors.v, shape.keys, shape.kv_heads),
          .weights = scheme.weights,
          .inputs = scheme.inputs,
          .products = shape.products,
          .parallel = parallel};
}

// The answer, which is true without a callback, is of no interest.
void run(const Scheme& scheme, const Shape& shape, const Tensors& tensors, int threads) {
  const posenc::AttendArgs args = args_of(scheme, shape, tensors, {.threads = threads});
  if (scheme.kept == nullptr) {
    (void)attend(scheme.layer, args);
  } else {
    (void)attend(*scheme.kept, args);
  }
}

// How much more memory the process holds while a call runs than before it, at the most; with 2 threads.
void measure_memory(const Shape& shape, const std::string& scheme_part) {
  const Tensors tensors(shape);
  std::vector<Scheme> list = schemes(shape);
  run(list.front(), shape, tensors, 2);  // touches what is written, starts the threads
  std::printf("%s\n", shape.name.c_str());
  const std::vector<std::int64_t> of_keys = positions(shape);
  std::vector<std::int64_t> of_queries;
  for (std::int64_t n = 0; n < shape.queries; ++n) of_queries.push_back(n * (shape.keys - 1) / (shape.queries - 1));
  for (Scheme& scheme : list) {
    if (scheme.name.find(scheme_part) == std::string::npos) continue;
    if (shape.spread) {
      scheme.inputs.k_positions = of_keys;
      scheme.inputs.q_positions = of_queries;
    }
    const double most = posenc::bench::most_held([&] { run(scheme, shape, tensors, 2); });
    std::printf("  %-18s %6.1f MiB\n", scheme.name.c_str(), most);
    std::fflush(stdout);
  }
}

// Calls without positions in a row, as a decoder makes them: with memory of their own, with scratch that is given, and
// with threads beside it that do not sleep between the calls, and do soon after, when others have their turn.
// own_: the heap; given_: AttendArgs::scratch; awake_: scratch and a pool whose worker spins. Candidates refer to this
// object, so it stays where it was made.
class CallsInARow {
 public:
  CallsInARow(const Scheme& scheme, const Shape& shape, const Tensors& tensors, int threads)
      : layer_(scheme.layer),
        pool_({.threads = threads, .spin = std::chrono::milliseconds(2)}),
        own_(args_of(scheme, shape, tensors, {.threads = threads})),
        given_(own_),
        awake_(own_) {
    awake_.parallel = {.threads = threads, .executor = pool_.executor()};
    // Pinned to one core, the process's pool has one thread, the other as many as it was given.
    scratch_.resize(
        static_cast<std::size_t>(std::max(attend_scratch_bytes(layer_, own_), attend_scratch_bytes(layer_, awake_))));
    given_.scratch = awake_.scratch = scratch_;
  }

  void add_to(std::vector<Candidate>& candidates) const {
    constexpr int kCalls = 32;
    candidates.push_back({.name = "calls in a row", .run = [this] { (void)attend(layer_, own_); }, .calls = kCalls});
    candidates.push_back({.name = "with scratch", .run = [this] { (void)attend(layer_, given_); }, .calls = kCalls});
    candidates.push_back({.name = "and spinning", .run = [this] { (void)attend(layer_, awake_); }, .calls = kCalls});
  }

 private:
  posenc::LayerPlan layer_;
  posenc::ThreadPool pool_;
  posenc::AttendArgs own_, given_, awake_;
  std::vector<std::byte> scratch_;
};

// threads 1: every scheme, in processor time of the thread. 2: no positions alone, in wall-clock time.
void measure(const Shape& shape, const std::string& scheme_part, int threads) {
  const Tensors tensors(shape);
  const posenc::Isa isa = posenc::selected_isa();
  constexpr std::int64_t kSteps = 2'000'000;
  double peak_operations = 0;
  std::vector<Candidate> candidates{{.name = "multiply-adds", .run = [&] {
                                       peak_operations = posenc::bench::multiply_add(isa, kSteps, shape.products);
                                     }}};
  const bool is_decoding = shape.queries == 1;
  if (is_decoding) candidates.push_back({.name = "reading", .run = [&] { read_keys(shape, tensors, threads); }});
  // Candidates: multiply-adds, reading in decode, no positions, the schemes, calls in a row, OpenBLAS.
  const std::size_t plain_at = candidates.size();
  std::vector<Scheme> list = schemes(shape);
  add_matrices(shape, list);
  std::erase_if(list, [&](const Scheme& one) {
    const bool is_wanted = threads == 1 && one.name.find(scheme_part) != std::string::npos;
    return one.name != "no positions" && !is_wanted;
  });
  add_kept(shape, list);
  const std::vector<std::int64_t> places = positions(shape);
  for (Scheme& scheme : list) {
    if (shape.irregular) {
      scheme.inputs.k_positions = places;
      scheme.inputs.q_positions = std::span(places).last(static_cast<std::size_t>(shape.queries));
    }
    candidates.push_back({.name = scheme.name, .run = [&] { run(scheme, shape, tensors, threads); }});
  }
  std::optional<CallsInARow> calls;
  if (is_decoding && !shape.irregular) calls.emplace(list.front(), shape, tensors, threads).add_to(candidates);
  std::vector<float> of_blas(static_cast<std::size_t>(shape.queries * shape.heads * shape.head_dim));
  if (threads == 1 && shape.queries > 1 && shape.dtype == posenc::DType::f32 &&
      !posenc::bench::blas_kernels().empty()) {
    candidates.push_back({.name = "OpenBLAS", .run = [&] { attend_by_blas(by_blas(shape, tensors, of_blas.data())); }});
  }
  posenc::bench::take_turns(candidates, kRounds,
                            threads == 1 ? posenc::bench::thread_seconds : posenc::bench::wall_seconds);
  std::printf("%s, %d thread%s\n", shape.name.c_str(), threads, threads == 1 ? "" : "s");
  if (candidates.back().name == "OpenBLAS") {
    candidates[1].run();
    std::printf("  OpenBLAS differs from attend by at most %.1e\n", largest_difference(tensors.out, of_blas));
  }
  for (const Candidate& c : candidates) {
    // The first line is the peak itself, 1 by definition.
    const double own = c.name == "multiply-adds" ? peak_operations : operations(shape);
    std::vector<double> of_peak;
    std::vector<double> over_plain;
    std::vector<double> rates;
    std::vector<double> of_reading;
    for (std::size_t i = 0; i < c.seconds.size(); ++i) {
      of_peak.push_back(own / c.seconds[i] / (peak_operations / candidates[0].seconds[i]));
      over_plain.push_back(c.seconds[i] / candidates[plain_at].seconds[i]);
      if (is_decoding) of_reading.push_back(candidates[1].seconds[i] / c.seconds[i]);
      rates.push_back(own / c.seconds[i] * 1e-9);
    }
    std::printf("  %-18s %8.3f ms", c.name.c_str(), spread(c.seconds).median * 1e3);
    if (c.name != "reading") {
      const Spread peak = spread(of_peak);
      std::printf(" %7.1f Gflop/s   %.3f [%.3f, %.3f] of peak FLOP/s", spread(rates).median, peak.median, peak.least,
                  peak.most);
    }
    if (is_decoding && &c != candidates.data()) {
      const Spread reading = spread(of_reading);
      std::printf("   %5.1f GB/s %.3f [%.3f, %.3f] of memory bandwidth",
                  key_bytes(shape) / spread(c.seconds).median * 1e-9, reading.median, reading.least, reading.most);
    }
    const Spread plain = spread(over_plain);
    if (&c - candidates.data() > static_cast<std::ptrdiff_t>(plain_at))
      std::printf("   %.2f [%.2f, %.2f] x no positions", plain.median, plain.least, plain.most);
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  const std::string scheme = argc > 2 ? argv[2] : "";
  std::printf("instruction set: %s\n", std::string(name(posenc::selected_isa())).c_str());
  if (part == "memory") {
    constexpr std::int64_t kTokens = 131072;
    measure_memory({.name = "4 queries on 131072 keys, 32 heads of 128, bf16",
                    .queries = 4,
                    .keys = kTokens,
                    .dtype = posenc::DType::bf16},
                   scheme);
    measure_memory({.name = "4 queries among 131072 keys, bidirectional, 32 heads of 128, bf16",
                    .queries = 4,
                    .keys = kTokens,
                    .causal = false,
                    .dtype = posenc::DType::bf16,
                    .spread = true},
                   scheme);
    measure_memory({.name = "131072 queries, 8 heads of 64, a window of 128, bf16",
                    .queries = kTokens,
                    .keys = kTokens,
                    .heads = 8,
                    .kv_heads = 2,
                    .head_dim = 64,
                    .dtype = posenc::DType::bf16,
                    .window = 128},
                   scheme);
    return 0;
  }
  if (const std::string blas(posenc::bench::blas_kernels()); !blas.empty()) {
    std::printf("OpenBLAS kernels: %s\n", blas.c_str());
  }
  std::vector<Shape> shapes;
  for (const std::int64_t tokens : {64, 128, 256, 512, 1024, 2048}) {
    const std::string name = "prefill " + std::to_string(tokens) + ", f32, causal";
    shapes.push_back({.name = name, .queries = tokens, .keys = tokens});
  }
  const std::vector<Shape> others{
      {.name = "prefill 4096 of 8 heads, f32, causal", .queries = 4096, .keys = 4096, .heads = 8, .kv_heads = 2},
      {.name = "prefill 8192 of 4 heads, f32, causal", .queries = 8192, .keys = 8192, .heads = 4, .kv_heads = 1},
      {.name = "prefill 512, f32, full", .queries = 512, .keys = 512, .causal = false},
      {.name = "prefill 2048, f32, full", .queries = 2048, .keys = 2048, .causal = false},
      {.name = "prefill 8192 of 4 heads, f32, full",
       .queries = 8192,
       .keys = 8192,
       .heads = 4,
       .kv_heads = 1,
       .causal = false},
      {.name = "prefill 2048, f32, head_dim 64", .queries = 2048, .keys = 2048, .head_dim = 64},
      {.name = "prefill 2048, f32, head_dim 256", .queries = 2048, .keys = 2048, .head_dim = 256},
      {.name = "prefill 2048, f32, irregular", .queries = 2048, .keys = 2048, .irregular = true},
  };
  shapes.insert(shapes.end(), others.begin(), others.end());
  for (const posenc::Products products : {posenc::Products::f32, posenc::Products::bf16}) {
    const std::string name = ", bf16, products of " + std::string(posenc::name(products));
    constexpr posenc::DType kStored = posenc::DType::bf16;
    shapes.push_back(
        {.name = "prefill 512" + name, .queries = 512, .keys = 512, .dtype = kStored, .products = products});
    shapes.push_back({.name = "prefill 4096 of 8 heads" + name,
                      .queries = 4096,
                      .keys = 4096,
                      .heads = 8,
                      .kv_heads = 2,
                      .dtype = kStored,
                      .products = products});
  }
  for (const std::int64_t keys : {4096, 32768, 131072}) {
    for (const posenc::DType dtype : {posenc::DType::f32, posenc::DType::bf16, posenc::DType::f16}) {
      const std::string name = "decode " + std::to_string(keys) + ", " + std::string(posenc::name(dtype));
      shapes.push_back({.name = name, .queries = 1, .keys = keys, .dtype = dtype});
    }
  }
  for (const Shape& shape : shapes) {
    if (shape.name.find(part) == std::string::npos) continue;
    // Two threads over one is read off the two blocks of output.
    for (const int threads : {1, 2}) measure(shape, scheme, threads);
  }
}
