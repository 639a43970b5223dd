// Faults of attention that others' projects had, with the threads that tell of them, and a few that are easily made.
// diagnose_attention() was not built with them: they were written before anybody looked at what it says of them.
#include <cmath>

#include "diagnose/attention_port.h"

namespace posenc::test {
namespace {

using P = AttentionPort;
using L = PortedLayer;
using Count = std::size_t;

bool is_causal_layer(const L& of) { return of.layer.mask.kind == MaskKind::causal; }

template <typename Spoil>
AttentionFault reported_attention_fault(const std::string& name, const std::vector<PortFact>& facts, Spoil spoil) {
  return {.name = name, .facts = facts, .spoil = spoil};
}

void add_scales(std::vector<AttentionFault>& out) {
  // bytedance-iaas/sglang 485: heads of 32 channels padded to 40, and the scale is that of the padded ones.
  out.push_back(
      reported_attention_fault("reported: scale of a padded head", {PortFact::scale}, [](P& p, const L&, Count, Count) {
        p.scale = 1 / std::sqrt(40.0);
        return true;
      }));
  // zzhhjjj/gemma-triton-flash-attn 6, FareedKhan-dev/train-llm-from-scratch 3: of another width.
  out.push_back(reported_attention_fault("reported: scale of the hidden size", {PortFact::scale},
                                         [](P& p, const L&, Count, Count) {
                                           p.scale = 1 / std::sqrt(32.0 * static_cast<double>(p.heads));
                                           return true;
                                         }));
  // Kernels that take exp2 and leave log2(e) out.
  out.push_back(
      reported_attention_fault("reported: exp2 for exp", {PortFact::scale}, [](P& p, const L& of, Count, Count) {
        p.scale *= std::log(2.0);
        return of.layer.score.empty() && !of.layer.soft_cap;
      }));
  // Gemma 2's cap without the factor before the tanh, and without that after it.
  out.push_back(reported_attention_fault("reported: soft cap that does not divide", {PortFact::soft_cap},
                                         [](P& p, const L&, Count, Count) {
                                           const double cap = p.cap;
                                           p.capped = [cap](double x) { return cap * std::tanh(x); };
                                           return cap > 0;
                                         }));
  out.push_back(reported_attention_fault("reported: soft cap that does not multiply", {PortFact::soft_cap},
                                         [](P& p, const L&, Count, Count) {
                                           const double cap = p.cap;
                                           p.capped = [cap](double x) { return std::tanh(x / cap); };
                                           return cap > 0;
                                         }));
  out.push_back(
      reported_attention_fault("reported: a soft cap of 15", {PortFact::soft_cap}, [](P& p, const L&, Count, Count) {
        const bool has = p.cap > 0;
        p.cap = 15;
        return has;
      }));
}

void add_masks(std::vector<AttentionFault>& out) {
  // huggingface/transformers 29623, 39408: the window is 3 keys wider, in blocks.
  out.push_back(
      reported_attention_fault("reported: window 3 too wide", {PortFact::window}, [](P& p, const L& of, Count, Count) {
        if (!of.layer.mask.window) return false;
        const auto past = static_cast<double>(of.layer.mask.window->past) + 3;
        const bool both = !is_causal_layer(of);
        p.seen = [past, both](double i, double j) { return (both || j <= i) && std::fabs(i - j) <= past; };
        return true;
      }));
  // vllm-project/vllm 3385: rounded to blocks of 16 keys.
  out.push_back(reported_attention_fault("reported: window rounded to 16", {PortFact::window},
                                         [](P& p, const L& of, Count, Count) {
                                           if (!of.layer.mask.window || !is_causal_layer(of)) return false;
                                           p.seen = [](double i, double j) { return j <= i && i - j < 16; };
                                           return true;
                                         }));
  // A mask that is multiplied with the scores instead of added to them.
  out.push_back(reported_attention_fault("reported: hidden scores are 0", {PortFact::mask},
                                         [](P& p, const L& of, Count queries, Count) {
                                           p.multiplies_mask = true;
                                           return (is_causal_layer(of) || of.layer.mask.window) && queries > 1;
                                         }));
  // Prefixes that see each other (Gemma 3's pictures, PaliGemma's prompts), where the plan is causal.
  out.push_back(reported_attention_fault("reported: the first 6 keys see each other", {PortFact::mask},
                                         [](P& p, const L& of, Count queries, Count keys) {
                                           const auto own = p.seen;
                                           p.seen = [own](double i, double j) { return own(i, j) || (i < 6 && j < 6); };
                                           return is_causal_layer(of) && !of.layer.mask.window && queries == keys;
                                         }));
  // huggingface/transformers 22161, turboderp-org/exllamav2 606: keys of the padding, hidden or not.
  out.push_back(reported_attention_fault("reported: the first 5 keys hidden", {PortFact::mask},
                                         [](P& p, const L& of, Count, Count keys) {
                                           const auto own = p.seen;
                                           p.seen = [own](double i, double j) { return own(i, j) && j >= 5; };
                                           return !of.layer.mask.window && keys > 10;
                                         }));
  // pytorch/pytorch 108108, of a window too: counted from the first key.
  out.push_back(reported_attention_fault("reported: window from the first key on", {PortFact::mask, PortFact::window},
                                         [](P& p, const L& of, Count queries, Count keys) {
                                           const auto own = p.seen;
                                           const auto cached = static_cast<double>(keys - queries);
                                           p.seen = [own, cached](double i, double j) { return own(i - cached, j); };
                                           return is_causal_layer(of) && of.layer.mask.window && keys > queries;
                                         }));
}

void add_biases(std::vector<AttentionFault>& out) {
  // flashinfer-ai/flashinfer 1606, bigscience-workshop/Megatron-DeepSpeed 227: each of two ranks has the slopes of as
  // many heads as it holds, from the first one on.
  out.push_back(reported_attention_fault("reported: ALiBi's slopes of 3 heads, twice", {PortFact::slopes},
                                         [](P& p, const L& of, Count, Count) {
                                           // 3 heads: 2^-4 and 2^-8 of two, then 2^-2 of four.
                                           p.bias = [](std::size_t h, double i, double j) {
                                             const double slope = h % 3 == 0 ? 0x1p-4 : h % 3 == 1 ? 0x1p-8 : 0x1p-2;
                                             return -slope * (i - j);
                                           };
                                           return of.name == "bloom";
                                         }));
  out.push_back(reported_attention_fault("reported: ALiBi's slopes from 1 on", {PortFact::slopes},
                                         [](P& p, const L& of, Count, Count) {
                                           p.bias = [](std::size_t h, double i, double j) {
                                             return -std::exp2(-8.0 * static_cast<double>(h) / 6) * (i - j);
                                           };
                                           return of.name == "bloom";
                                         }));
  // huggingface/candle 899: with a cache the bias is that of queries from 0 on.
  out.push_back(reported_attention_fault(
      "reported: T5's bias without the cache", {PortFact::buckets}, [](P& p, const L& of, Count queries, Count keys) {
        const auto own = p.bias;
        const auto cached = static_cast<double>(keys - queries);
        p.bias = [own, cached](std::size_t h, double i, double j) { return own(h, i - cached, j); };
        return !of.table.empty() && keys > queries;
      }));
  out.push_back(
      reported_attention_fault("reported: T5's bias scaled", {PortFact::buckets}, [](P& p, const L& of, Count, Count) {
        const auto own = p.bias;
        const double by = p.scale;
        p.bias = [own, by](std::size_t h, double i, double j) { return by * own(h, i, j); };
        return !of.table.empty();
      }));
  // Sinks that are read in the order of the KV groups, and sinks that are negated.
  out.push_back(reported_attention_fault("reported: sinks one head further", {PortFact::sinks},
                                         [](P& p, const L& of, Count, Count) {
                                           if (!of.layer.sinks) return false;
                                           p.sinks = {1.5, -0.3, 2.0, 0.5};
                                           return true;
                                         }));
  out.push_back(
      reported_attention_fault("reported: sinks negated", {PortFact::sinks}, [](P& p, const L& of, Count, Count) {
        for (double& sink : p.sinks) sink = -sink;
        return of.layer.sinks;
      }));
}

}  // namespace

std::vector<AttentionFault> reported_attention() {
  std::vector<AttentionFault> out;
  add_scales(out);
  add_masks(out);
  add_biases(out);
  return out;
}

}  // namespace posenc::test
