// Decode beside ggml's flash attention, on the same bytes of a KV cache: one token of 32 heads on 8 KV heads of 128
// channels, against q8_0, q4_0 and f16, in one process and in turn. ggml is a shared library that is loaded here, as
// llama.cpp lays the cache out ([keys][KV heads][channels]) and calls it (ggml_flash_attn_ext, ggml_graph_compute).
//
// usage: bench_ggml_decode LIBRARY [KEYS [ROUNDS [THREADS]]]
#include <dlfcn.h>  // POSIX

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "posenc/attend.h"
#include "posenc/cache.h"
#include "taking_turns.h"

namespace {

using posenc::CacheFormat;
using posenc::bench::Candidate;

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kWidth = 128;
const float kScale = 1 / std::sqrt(static_cast<float>(kWidth));

// What is used of ggml.h and ggml-cpu.h, by its own names of fields where they are read.
namespace ggml {
struct Parameters {
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};
struct Plan {
  std::size_t work_size;
  std::uint8_t* work_data;
  int n_threads;
  void* threadpool;
  bool (*abort_callback)(void*);
  void* abort_callback_data;
  bool use_ref;
};
constexpr int kF32 = 0;
constexpr int kF16 = 1;
constexpr int kQ40 = 2;
constexpr int kQ80 = 8;
}  // namespace ggml

void* library = nullptr;

// A function of the library; the program ends where it has none of that name.
template <typename Function>
Function* function(const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "no %s: %s\n", name, dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

// A graph of one node: flash attention over copies of these bytes.
class GgmlAttention {
 public:
  GgmlAttention(int type, std::int64_t keys, const std::vector<float>& q, const void* k, const void* v,
                std::size_t bytes, int threads) {
    const auto tensor = [&](int of, std::int64_t n0, std::int64_t n1, std::int64_t n2, const void* data,
                            std::size_t size) {
      void* const out = function<void*(void*, int, std::int64_t, std::int64_t, std::int64_t)>("ggml_new_tensor_3d")(
          context_, of, n0, n1, n2);
      std::memcpy(function<void*(const void*)>("ggml_get_data")(out), data, size);
      return out;
    };
    const auto by_head = [&](void* x) {  // as llama.cpp turns its cache
      return function<void*(void*, void*, int, int, int, int)>("ggml_permute")(context_, x, 0, 2, 1, 3);
    };
    context_ = function<void*(ggml::Parameters)>("ggml_init")({2 * bytes + (std::size_t{16} << 20U), nullptr, false});
    void* const of_q = tensor(ggml::kF32, kWidth, 1, kHeads, q.data(), q.size() * sizeof(float));
    void* const of_k = by_head(tensor(type, kWidth, kKvHeads, keys, k, bytes));
    void* const of_v = by_head(tensor(type, kWidth, kKvHeads, keys, v, bytes));
    out_ = function<void*(void*, void*, void*, void*, void*, float, float, float)>("ggml_flash_attn_ext")(
        context_, of_q, of_k, of_v, nullptr, kScale, 0.0F, 0.0F);
    graph_ = function<void*(void*)>("ggml_new_graph")(context_);
    function<void(void*, void*)>("ggml_build_forward_expand")(graph_, out_);
    plan_ = function<ggml::Plan(const void*, int, void*)>("ggml_graph_plan")(graph_, threads, nullptr);
    work_.resize(plan_.work_size);
    plan_.work_data = work_.data();
  }
  GgmlAttention(const GgmlAttention&) = delete;
  GgmlAttention& operator=(const GgmlAttention&) = delete;
  ~GgmlAttention() { function<void(void*)>("ggml_free")(context_); }

  void run() { compute_(graph_, &plan_); }
  const float* out() const { return static_cast<const float*>(function<void*(const void*)>("ggml_get_data")(out_)); }

 private:
  void* context_ = nullptr;
  void* graph_ = nullptr;
  void* out_ = nullptr;
  ggml::Plan plan_{};
  std::vector<std::uint8_t> work_;
  int (*compute_)(void*, ggml::Plan*) = function<int(void*, ggml::Plan*)>("ggml_graph_compute");
};

struct Way {
  const char* name;
  int type;  // ggml's
  std::int64_t row_bytes;
};
constexpr Way kWays[] = {
    {"f16", ggml::kF16, 2 * kWidth}, {"q8_0", ggml::kQ80, kWidth / 32 * 34}, {"q4_0", ggml::kQ40, kWidth / 32 * 18}};

// Stores the numbers as the way has them.
std::vector<char> stored(const Way& way, const std::vector<float>& numbers, std::int64_t keys) {
  std::vector<char> out(static_cast<std::size_t>(keys * kKvHeads * way.row_bytes));
  std::vector<std::int64_t> slots(static_cast<std::size_t>(keys));
  std::iota(slots.begin(), slots.end(), 0);
  posenc::CacheArgs args{.k = posenc::tensor(numbers.data(), {keys, kKvHeads, kWidth}), .slots = slots};
  if (way.type == ggml::kF16) {
    args.k_cache = posenc::tensor(static_cast<void*>(out.data()), posenc::DType::f16, {keys, kKvHeads, kWidth});
  } else {
    const CacheFormat format = way.type == ggml::kQ80 ? CacheFormat::q8_0 : CacheFormat::q4_0;
    args.k_quantised = posenc::quantised(static_cast<void*>(out.data()), format, {keys, kKvHeads, kWidth});
  }
  (void)posenc::rotate_into_cache(args);
  return out;
}

void set(posenc::ConstTensorView& plain, posenc::ConstQuantisedView& codes, const Way& way, const void* data,
         std::int64_t keys) {
  if (way.type == ggml::kF16) {
    plain = posenc::tensor(data, posenc::DType::f16, {keys, kKvHeads, kWidth});
  } else {
    const CacheFormat format = way.type == ggml::kQ80 ? CacheFormat::q8_0 : CacheFormat::q4_0;
    codes = posenc::quantised(data, format, {keys, kKvHeads, kWidth});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int n, std::int64_t otherwise) {
    return argc > n ? std::strtoll(argv[n], nullptr, 10) : otherwise;
  };
  const std::int64_t keys = number(2, 32768);
  const auto rounds = static_cast<int>(number(3, 9));
  const auto threads = static_cast<int>(number(4, 1));
  if (argc < 2 || keys < 1 || rounds < 1 || threads < 1) {
    std::fprintf(stderr, "usage: bench_ggml_decode LIBRARY [KEYS [ROUNDS [THREADS]]]\n");
    return 2;
  }
  library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  function<void()>("ggml_cpu_init")();
  std::printf("%lld keys, one token of 32 heads on 8 KV heads of 128, threads: %d; ggml: avx2 %d, avx512 %d\n",
              static_cast<long long>(keys), threads, function<int()>("ggml_cpu_has_avx2")(),
              function<int()>("ggml_cpu_has_avx512")());

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto drawn = [&](std::int64_t size) {
    std::vector<float> out(static_cast<std::size_t>(size));
    for (float& x : out) x = normal(random);
    return out;
  };
  const std::vector<float> q = drawn(kHeads * kWidth);
  const std::vector<float> k = drawn(keys * kKvHeads * kWidth);
  const std::vector<float> v = drawn(keys * kKvHeads * kWidth);
  posenc::LayerPlan layer{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kWidth, .value_dim = kWidth};
  layer.softmax_scale = kScale;
  for (const Way& way : kWays) {
    const std::vector<char> of_k = stored(way, k, keys);
    const std::vector<char> of_v = stored(way, v, keys);
    std::vector<float> out(q.size());
    posenc::AttendArgs args{.out = posenc::tensor(out.data(), {1, kHeads, kWidth}),
                            .q = posenc::tensor(q.data(), {1, kHeads, kWidth}),
                            .parallel = {.threads = threads}};
    set(args.k, args.k_quantised, way, of_k.data(), keys);
    set(args.v, args.v_quantised, way, of_v.data(), keys);
    GgmlAttention theirs(way.type, keys, q, of_k.data(), of_v.data(), of_k.size(), threads);
    std::vector<Candidate> candidates{
        {.name = std::string("ggml, ") + way.name, .run = [&] { theirs.run(); }},
        {.name = std::string("posenc, ") + way.name, .run = [&] { (void)posenc::attend(layer, args); }}};
    posenc::bench::take_turns(candidates, rounds,
                              threads == 1 ? posenc::bench::thread_seconds : posenc::bench::wall_seconds);
    posenc::bench::print(candidates, static_cast<double>(keys), "key");
    double apart = 0.0;
    double most = 0.0;
    for (std::size_t n = 0; n < out.size(); ++n) {
      apart = std::max(apart, static_cast<double>(std::abs(out[n] - theirs.out()[n])));
      most = std::max(most, static_cast<double>(std::abs(out[n])));
    }
    std::printf("  largest difference of outputs: %.2g of the largest output\n", apart / most);
    if (!(apart < 0.1 * most)) return 1;  // not the same attention
  }
  return 0;
}
