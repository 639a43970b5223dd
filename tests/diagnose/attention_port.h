// A port's attention in plain loops over double, and what ports do wrong of it. Nothing here is the library's.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "posenc/diagnose_attention.h"

namespace posenc::test {

// What one port does. i and j are places in the sequence, counted from 0; queries are the last ones.
struct AttentionPort {
  std::size_t heads = 8, kv_heads = 8, head_dim = 32;
  double scale = 1.0;
  std::function<double(std::size_t h, double i)> times{};  // besides the scale
  double cap = 0.0;                                        // 0: none
  bool cap_before_bias = false;
  std::function<double(std::size_t h, double i, double j)> bias{};
  std::function<double(double)> capped{};  // instead of cap
  std::function<bool(double i, double j)> seen{};
  bool multiplies_mask = false;  // scores of hidden keys become 0, and are softmaxed
  std::vector<double> sinks{};
  std::function<std::size_t(std::size_t h)> k_head{}, v_head{};
  bool rotates_values = false;
  std::function<std::size_t(std::size_t j)> v_token{};  // whose value it is; else j's own
  bool out_by_heads = false;                            // the output as [heads, queries, channels]
  bool rounds_scores = false;                  // to the dtype of the tensors, as a kernel without float32 sums does
  bool rounds_steps = false;                   // the product, the scaled one and the biased one too
  std::optional<DType> inside{};               // what these round to instead
  std::function<double(double)> multiplied{};  // rounds queries and keys
  std::function<double(double)> summed{};      // rounds weights and values
};

struct AttentionNumbers {
  std::size_t queries = 0, keys = 0;
  std::vector<double> q, k, v;               // [tokens, heads, channels]
  std::vector<double> scores, weights, out;  // scores hold the mask
};

AttentionNumbers numbers_of(const AttentionPort& port, std::size_t queries, std::size_t keys, DType dtype,
                            std::uint64_t seed);

// A layer, and a port that does it right.
struct PortedLayer {
  std::string name;
  LayerPlan layer;
  Plan plan{};
  AttentionPort port;
  std::vector<double> table{};  // T5's, [buckets, heads]
};
std::vector<PortedLayer> ported_layers();

struct AttentionFault {
  std::string name;
  std::vector<PortFact> facts;  // any of these names it; none: it is right, or nothing known
  bool right = false;
  std::function<bool(AttentionPort& port, const PortedLayer& of, std::size_t queries, std::size_t keys)> spoil;
  bool of_fine_dumps = false;  // in tensors of 16 bits it is none
};
std::vector<AttentionFault> attention_faults();
std::vector<AttentionFault> reported_attention();  // of others' projects: reported_attention.cpp
std::vector<AttentionFault> found_attention();     // in parts of a call: found_attention.cpp
std::vector<AttentionFault> inner_attention();     // in short formats inside: found_attention.cpp
std::vector<AttentionFault> measured_attention();  // of heads, values and masks: found_attention.cpp

}  // namespace posenc::test
