// Faults of a part of the heads, queries or distances, which short formats may hide from a sum over a whole call. Found
// by people who looked for what is called right. And ports with short formats inside, whose dumps are finer.
#include <cmath>
#include <utility>

#include "diagnose/attention_port.h"
#include "diagnose/port.h"

namespace posenc::test {
namespace {

using Places = std::size_t;
using SpoilPart = std::function<bool(AttentionPort& port, const PortedLayer& of, Places queries, Places keys)>;

AttentionFault found_in_part(const char* name, PortFact fact, SpoilPart spoil) {
  return {.name = name, .facts = {fact}, .right = false, .spoil = std::move(spoil)};
}

AttentionFault inside(const char* name, PortFact fact, std::function<void(AttentionPort& port)> spoil) {
  return {.name = name,
          .facts = {fact},
          .spoil =
              [spoil = std::move(spoil)](AttentionPort& p, const PortedLayer&, Places, Places) {
                spoil(p);
                return true;
              },
          .of_fine_dumps = true};
}

double in_bfloat16(double x) { return rounded_to(DType::bf16, x); }

// What GPUs multiply of float32 unless they are told not to: 11 significant bits, ties away from 0.
double in_tf32(double x) {
  if (x == 0) return x;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(mantissa * 2048), exponent - 11);
}

std::vector<AttentionFault> missed_biases() {
  using P = AttentionPort;
  using L = PortedLayer;
  std::vector<AttentionFault> out;
  out.push_back(found_in_part("T5's bias in bfloat16", PortFact::precision, [](P& p, const L& of, Places, Places) {
    const auto own = p.bias;
    p.bias = [own](Places h, double i, double j) { return in_bfloat16(own(h, i, j)); };
    return !of.table.empty();
  }));
  out.back().of_fine_dumps = true;
  for (const bool alibi : {true, false}) {
    out.push_back(
        found_in_part(alibi ? "ALiBi's heads one further" : "T5's heads one further",
                      alibi ? PortFact::slopes : PortFact::buckets, [alibi](P& p, const L& of, Places, Places) {
                        const auto own = p.bias;
                        p.bias = [own, n = p.heads](Places h, double i, double j) { return own((h + 1) % n, i, j); };
                        return alibi ? of.name == "bloom" : !of.table.empty();
                      }));
  }
  // Of the layers' 16 buckets, 8 of a direction where there are two.
  const auto buckets = [&out](const char* name, double (*beyond)(double over, double reach)) {
    out.push_back(found_in_part(name, PortFact::buckets, [beyond](P& p, const L& of, Places, Places) {
      const bool both = of.layer.mask.kind == MaskKind::bidirectional;
      const double each = both ? 8 : 16;
      p.bias = [table = of.table, beyond, both, each](Places h, double i, double j) {
        const double exact = each / 2;
        const double size = both ? std::fabs(i - j) : std::fmax(i - j, 0);
        double bucket = size;
        if (size >= exact) bucket = exact + std::floor(beyond(size / exact, 40 / exact) * exact);
        bucket = std::fmin(bucket, each - 1) + (both && j > i ? each : 0);
        return table[static_cast<Places>(bucket) * 4 + h];
      };
      return !of.table.empty();
    }));
  };
  buckets("T5 by log10 over ln", [](double over, double reach) { return std::log10(over) / std::log(reach); });
  buckets("T5 by roots", [](double over, double reach) { return std::sqrt((over - 1) / reach); });
  return out;
}

}  // namespace

std::vector<AttentionFault> found_attention() {
  std::vector<AttentionFault> out;
  out.push_back(found_in_part("found: one head half as much scale again", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places, Places) {
                                p.times = [](Places h, double) { return h == 1 ? 1.5 : 1.0; };
                                return true;
                              }));
  out.push_back(found_in_part("found: the later queries twice the scale", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto end = static_cast<double>(keys);
                                p.times = [end](Places, double i) { return i >= end / 2 ? 2.0 : 1.0; };
                                return queries > 8;
                              }));
  out.push_back(found_in_part("found: the second half sees the key after", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer& of, Places queries, Places keys) {
                                // T5's biases are large, and rounding of their sums in bfloat16 does as much.
                                if (!of.table.empty()) return false;
                                const auto own = p.seen;
                                const double last = static_cast<double>(keys) - 1;
                                p.seen = [own, last](double i, double j) {
                                  return own(i, j) || (i > last / 2 && j == i + 1 && j <= last);
                                };
                                return queries > 8 && !own(0, 1);
                              }));
  out.push_back(found_in_part("found: ALiBi ends at 8 keys", PortFact::slopes,
                              [](AttentionPort& p, const PortedLayer& of, Places queries, Places) {
                                const auto own = p.bias;
                                p.bias = [own](Places h, double i, double j) {
                                  return own(h, i, i - j > 8 ? i - 8 : j);
                                };
                                return of.name == "bloom" && queries > 8;
                              }));
  out.push_back(found_in_part("found: one query sees the key after", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto own = p.seen;
                                const double one = static_cast<double>(keys) - 10;
                                p.seen = [own, one](double i, double j) {
                                  return own(i, j) || (i == one && j == i + 1);
                                };
                                return queries > 20 && !own(0, 1);
                              }));
  out.push_back(found_in_part("found: two queries twice the scale", PortFact::scale,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const double end = static_cast<double>(keys);
                                p.times = [end](Places, double i) { return i == end - 3 || i == end - 12 ? 2.0 : 1.0; };
                                return queries > 20;
                              }));
  out.push_back(found_in_part("found: one query without its first key", PortFact::mask,
                              [](AttentionPort& p, const PortedLayer&, Places queries, Places keys) {
                                const auto own = p.seen;
                                const double one = static_cast<double>(keys) - 32;
                                p.seen = [own, one](double i, double j) { return own(i, j) && !(i == one && j == 0); };
                                return queries > 20 && own(one, 0);
                              }));
  for (AttentionFault& fault : missed_biases()) out.push_back(std::move(fault));
  return out;
}

std::vector<AttentionFault> inner_attention() {
  using P = AttentionPort;
  std::vector<AttentionFault> out;
  out.push_back(
      inside("inside: products in TF32", PortFact::precision, [](P& p) { p.multiplied = p.summed = in_tf32; }));
  out.push_back(
      inside("inside: products in bfloat16", PortFact::precision, [](P& p) { p.multiplied = p.summed = in_bfloat16; }));
  out.push_back(inside("inside: scores in bfloat16", PortFact::precision, [](P& p) {
    p.inside = DType::bf16;
    p.rounds_scores = true;
  }));
  out.push_back(inside("inside: every step of scores in float16", PortFact::precision, [](P& p) {
    p.inside = DType::f16;
    p.rounds_scores = p.rounds_steps = true;
  }));
  out.push_back(inside("inside: all in bfloat16", PortFact::precision, [](P& p) {
    p.inside = DType::bf16;
    p.rounds_scores = p.rounds_steps = true;
    p.multiplied = p.summed = in_bfloat16;
  }));
  out.push_back(inside("inside: scores in bfloat16, scale left out", PortFact::scale, [](P& p) {
    p.inside = DType::bf16;
    p.rounds_scores = true;
    p.scale = 1;
  }));
  return out;
}

std::vector<AttentionFault> measured_attention() {
  using P = AttentionPort;
  using L = PortedLayer;
  std::vector<AttentionFault> out;
  out.push_back(found_in_part("the first KV head in all heads", PortFact::kv_heads, [](P& p, const L&, Places, Places) {
    p.k_head = p.v_head = [](Places) { return Places{0}; };
    return p.kv_heads > 1 && p.kv_heads < p.heads;
  }));
  out.push_back(found_in_part("KV heads one group further", PortFact::kv_heads, [](P& p, const L&, Places, Places) {
    const auto own = p.k_head;
    p.k_head = p.v_head = [own, kv = p.kv_heads](Places h) { return (own(h) + 1) % kv; };
    return p.kv_heads > 1 && p.kv_heads < p.heads;
  }));
  out.push_back(found_in_part("values rolled by one token", PortFact::value, [](P& p, const L&, Places, Places keys) {
    p.v_token = [keys](Places j) { return (j + keys - 1) % keys; };
    return keys > 2;
  }));
  out.push_back(
      found_in_part("the output not transposed", PortFact::layout, [](P& p, const L&, Places queries, Places) {
        p.out_by_heads = true;
        return queries > 1;
      }));
  out.push_back(found_in_part("values half as large", PortFact::value, [](P& p, const L&, Places, Places) {
    p.summed = [](double x) { return std::sqrt(0.5) * x; };
    return true;
  }));
  out.push_back(found_in_part("sequences of 12 keys packed", PortFact::mask, [](P& p, const L& of, Places, Places) {
    const auto own = p.seen;
    p.seen = [own](double i, double j) { return own(i, j) && std::floor(i / 12) == std::floor(j / 12); };
    return of.layer.mask.kind == MaskKind::causal && !of.layer.mask.window;
  }));
  out.push_back(
      found_in_part("a window of 9 and the first 4 keys", PortFact::window, [](P& p, const L& of, Places, Places) {
        const auto own = p.seen;
        p.seen = [own](double i, double j) { return own(i, j) && (i - j < 9 || j < 4); };
        return of.layer.mask.kind == MaskKind::causal && !of.layer.mask.window;
      }));
  return out;
}

}  // namespace posenc::test
