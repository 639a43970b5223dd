// The backward pass of attention beside the forward pass of the same layer, in one process, in turns: time over time,
// the fraction of peak FLOP/s (five products of which the forward pass has two), and time over that of the layer
// without positions.
//
// Those whose weights take work are timed once more, "kept": with that work done before, as a step does it once for
// both passes (prepared_layer.h).
//
// usage: bench_attend_backward [TOKENS [HEADS [KV HEADS [PART OF A SCHEME [ROUNDS]]]]]        on one thread
//        bench_attend_backward memory [PART OF A SCHEME]     what a call on 32768 tokens takes beside its tensors
#include "posenc/attend_backward.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "held_memory.h"
#include "math/learned_tensors.h"
#include "multiply_add.h"
#include "posenc/attend.h"
#include "posenc/prepared_layer.h"
#include "taking_turns.h"

namespace {

using posenc::bench::Candidate;

constexpr std::int64_t kHeadDim = 128;

struct Sizes {
  std::int64_t tokens = 2048;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 32;
};

// Numbers within `scale` of the middle, kept as long as the process.
std::vector<float>& numbers(std::int64_t count, float scale = 1.0F, float middle = 0.0F) {
  static std::deque<std::vector<float>> kept;
  std::vector<float>& values = kept.emplace_back(static_cast<std::size_t>(count));
  std::uint32_t state = 7;
  for (float& x : values) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    x = middle + scale * static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

posenc::TensorView table(std::initializer_list<std::int64_t> shape, float scale = 0.1F, float middle = 0.0F) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return posenc::tensor(numbers(count, scale, middle).data(), shape);
}

struct Scheme {
  std::string name;
  posenc::LayerPlan layer;
  posenc::LayerWeights weights{};
  posenc::LayerInputs inputs{};
  std::shared_ptr<const posenc::PreparedLayer> kept{};  // instead of layer and weights
};

posenc::LayerPlan plain(const Sizes& s) {
  posenc::LayerPlan layer{.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = kHeadDim, .value_dim = kHeadDim};
  layer.softmax_scale = 1.0 / std::sqrt(static_cast<double>(kHeadDim));
  return layer;
}

// "No positions" first.
std::vector<Scheme> schemes(const Sizes& s) {
  std::vector<Scheme> out{{"no positions", plain(s)}};
  const auto add = [&](const char* name, const posenc::ScoreTerm& term, posenc::ScoreWeights weights) {
    out.push_back({.name = name, .layer = plain(s), .weights = {.score = {std::move(weights)}}});
    out.back().layer.score = {term};
  };
  out.push_back({.name = "RoPE on load", .layer = plain(s)});
  out.back().layer.rotate = {
      posenc::Rotate{.scheme = posenc::Rope{.pairing = posenc::Pairing::half, .head_dim = kHeadDim, .dim = kHeadDim}}};
  add("ALiBi", posenc::Alibi{.heads = s.heads}, {});
  add("T5", posenc::T5Bias{.buckets = 32, .max_distance = 128}, posenc::T5Weights{.table = table({32, s.heads})});
  add("learned bias", posenc::ClippedBias{.past = s.tokens - 1},
      posenc::ClippedBiasWeights{.table = table({s.tokens, s.heads})});
  add("KERPLE", posenc::Kerple{},
      posenc::KerpleWeights{.r1 = table({s.heads}, 0.4F, 0.5F), .r2 = table({s.heads}, 0.4F, 0.5F)});
  add("FoX", posenc::ForgetGate{}, {});
  out.back().inputs.log_forget = table({s.tokens, s.heads}, 0.05F, -0.05F);
  const auto linear = [&](std::int64_t outputs, std::int64_t inputs) {
    return posenc::Linear{.weight = table({outputs, inputs}, 1.0F), .bias = table({outputs}, 1.0F)};
  };
  add("FIRE", posenc::Fire{},
      posenc::FireWeights{.c = 0.1, .threshold = 512, .hidden = linear(32, 1), .out = linear(s.heads, 32)});
  add("Shaw's keys", posenc::ShawKeys{.left = 16, .right = 16}, posenc::ShawWeights{.table = table({33, kHeadDim})});
  add("CoPE", posenc::ContextualPosition{.positions = 64}, posenc::CopeWeights{.table = table({64, kHeadDim})});
  add("Transformer-XL", posenc::TransformerXl{},
      posenc::TransformerXlWeights{.projection = table({s.heads * kHeadDim, 64}),
                                   .content_bias = table({s.heads, kHeadDim}),
                                   .position_bias = table({s.heads, kHeadDim})});
  const std::int64_t width = s.heads * kHeadDim;
  add("DeBERTa", posenc::Deberta{.buckets = 256, .max_distance = 512},
      posenc::DebertaWeights{.table = table({512, width}),
                             .keys = {.weight = table({width, width}), .bias = table({width})},
                             .queries = {.weight = table({width, width}), .bias = table({width})}});
  return out;
}

// DeBERTa's and Transformer-XL's projections, and FIRE's and KERPLE's biases.
void add_kept(const Sizes& s, std::vector<Scheme>& list) {
  std::vector<Scheme> out;
  for (Scheme& scheme : list) {
    out.push_back(std::move(scheme));
    Scheme kept = out.back();
    if (kept.layer.score.empty()) continue;
    posenc::PreparedLayer prepared = prepare_layer(kept.layer, kept.weights, {.max_distance = s.tokens});
    if (prepared.bytes() == 0) continue;
    kept.name += ", kept";
    kept.kept = std::make_shared<const posenc::PreparedLayer>(std::move(prepared));
    out.push_back(std::move(kept));
  }
  list = std::move(out);
}

// Gradients of all that the layer has learned.
std::deque<posenc::NamedGradient> gradients(const Scheme& scheme) {
  static std::deque<std::string> names;
  std::deque<posenc::NamedGradient> out;
  for (const posenc::math::LearnedTensor& one : posenc::math::learned_tensors(scheme.layer, scheme.weights)) {
    std::int64_t count = 1;
    posenc::TensorView view{.dtype = posenc::DType::f32, .rank = one.tensor.rank, .shape = one.tensor.shape};
    for (int axis = one.tensor.rank; axis-- > 0;) {
      view.strides[static_cast<std::size_t>(axis)] = count;
      count *= view.shape[static_cast<std::size_t>(axis)];
    }
    view.data = numbers(count).data();
    out.push_back({names.emplace_back(one.name), view});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_memory = argc > 1 && std::string(argv[1]) == "memory";
  const auto number = [&](int n, std::int64_t otherwise) {
    return argc > n && !is_memory ? std::strtoll(argv[n], nullptr, 10) : otherwise;
  };
  // Of memory few heads are enough.
  const std::int64_t by_default = is_memory ? 2 : 32;
  const Sizes s{number(1, is_memory ? 32768 : 2048), number(2, by_default), number(3, number(2, by_default))};
  const std::int64_t threads = is_memory ? 2 : 1;
  const int at = is_memory ? 2 : 4;
  const std::string part = argc > at ? argv[at] : "";
  const auto rounds = static_cast<int>(number(5, 5));
  const auto heads_of = [&](std::int64_t heads) { return table({s.tokens, heads, kHeadDim}, 1.0F); };
  const posenc::TensorView q = heads_of(s.heads);
  const posenc::TensorView k = heads_of(s.kv_heads);
  const posenc::TensorView v = heads_of(s.kv_heads);
  const posenc::TensorView out = heads_of(s.heads);
  const posenc::TensorView d_out = heads_of(s.heads);
  const posenc::TensorView d_q = heads_of(s.heads);
  const posenc::TensorView d_k = heads_of(s.kv_heads);
  const posenc::TensorView d_v = heads_of(s.kv_heads);
  const posenc::TensorView lse = table({s.tokens, s.heads});
  const double pairs = static_cast<double>(s.tokens) * static_cast<double>(s.tokens + 1) / 2;
  const double products = 2.0 * pairs * static_cast<double>(s.heads * kHeadDim);  // operations of one product

  std::printf("%lld tokens, %lld heads, %lld KV heads of %lld, causal, f32, %lld thread%s\n",
              static_cast<long long>(s.tokens), static_cast<long long>(s.heads), static_cast<long long>(s.kv_heads),
              static_cast<long long>(kHeadDim), static_cast<long long>(threads), threads == 1 ? "" : "s");
  std::vector<Scheme> all = schemes(s);
  add_kept(s, all);
  std::deque<std::deque<posenc::NamedGradient>> asked;
  std::deque<std::vector<posenc::NamedGradient>> lists;
  std::vector<Candidate> candidates;
  double peak_operations = 0.0;
  candidates.push_back(
      {.name = "peak", .run = [&] { peak_operations = posenc::bench::multiply_add(posenc::selected_isa(), 1 << 22); }});
  for (const Scheme& scheme : all) {
    if (&scheme != &all.front() && scheme.name.find(part) == std::string::npos) continue;
    asked.push_back(gradients(scheme));
    lists.emplace_back(asked.back().begin(), asked.back().end());
    const std::vector<posenc::NamedGradient>& d_weights = lists.back();
    const posenc::LayerWeights weights = scheme.kept ? posenc::LayerWeights{} : scheme.weights;
    const posenc::AttendArgs forward{.out = out,
                                     .q = q,
                                     .k = k,
                                     .v = v,
                                     .weights = weights,
                                     .inputs = scheme.inputs,
                                     .lse = lse,
                                     .parallel = {.threads = threads}};
    const posenc::AttendBackwardArgs backward{.q = q,
                                              .k = k,
                                              .v = v,
                                              .weights = weights,
                                              .inputs = scheme.inputs,
                                              .out = out,
                                              .lse = lse,
                                              .d_out = d_out,
                                              .d_q = d_q,
                                              .d_k = d_k,
                                              .d_v = d_v,
                                              .d_weights = d_weights,
                                              .parallel = {.threads = threads}};
    candidates.push_back({.name = scheme.name, .run = [&scheme, forward] {
                            (void)(scheme.kept ? attend(*scheme.kept, forward) : attend(scheme.layer, forward));
                          }});
    candidates.push_back({.name = scheme.name + ", backward", .run = [&scheme, backward] {
                            (void)(scheme.kept ? attend_backward(*scheme.kept, backward)
                                               : attend_backward(scheme.layer, backward));
                          }});
  }
  if (is_memory) {
    candidates[1].run();  // starts the threads
    candidates[2].run();
    for (std::size_t n = 1; n < candidates.size(); n += 2) {
      if (candidates[n].name.find(part) == std::string::npos) continue;
      candidates[n].run();
      std::printf("  %-16s %6.1f MiB\n", candidates[n].name.c_str(), posenc::bench::most_held(candidates[n + 1].run));
      std::fflush(stdout);
    }
    return 0;
  }
  take_turns(candidates, rounds);
  const Candidate& peak = candidates.front();
  for (std::size_t n = 1; n < candidates.size(); n += 2) {
    const Candidate& forward = candidates[n];
    const Candidate& backward = candidates[n + 1];
    const auto of_peak = [&](const Candidate& one, double operations) {
      return posenc::bench::ratios(peak, one).median * operations / peak_operations;
    };
    const posenc::bench::Spread ratio = posenc::bench::ratios(backward, forward);
    std::printf("  %-16s backward/forward %.2f [%.2f, %.2f]   of peak %.2f, %.2f   over no positions %.2f, %.2f\n",
                forward.name.c_str(), ratio.median, ratio.least, ratio.most, of_peak(forward, 2 * products),
                of_peak(backward, 5 * products), posenc::bench::ratios(forward, candidates[1]).median,
                posenc::bench::ratios(backward, candidates[2]).median);
  }
  return 0;
}
