#include "diagnose/attention_port.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnose/port.h"

namespace posenc::test {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

bool causal(double i, double j) { return j <= i; }

// ALiBi: 2^(-8 k / n) for the power of two below, then every second one of twice as many (arXiv 2108.12409).
std::vector<double> slopes(std::size_t heads) {
  std::size_t n = 1;
  while (2 * n <= heads) n *= 2;
  std::vector<double> out;
  for (std::size_t k = 1; k <= n; ++k) out.push_back(std::exp2(-8.0 * static_cast<double>(k) / static_cast<double>(n)));
  for (std::size_t k = 1; out.size() < heads; k += 2) {
    out.push_back(std::exp2(-8.0 * static_cast<double>(k) / static_cast<double>(2 * n)));
  }
  return out;
}

// T5 (arXiv 1910.10683): exact up to half of the buckets, then logarithmic up to the farthest distance.
std::size_t bucket(double distance, bool bidirectional, std::size_t buckets, double farthest, bool linear = false) {
  std::size_t from = 0;
  double n = distance;  // how far back the key is
  if (bidirectional) {
    buckets /= 2;
    if (n < 0) from = buckets;
    n = std::fabs(n);
  } else {
    n = std::max(n, 0.0);
  }
  const auto half = buckets / 2;
  const auto exact = static_cast<double>(half);
  if (n < exact || linear) return from + static_cast<std::size_t>(std::min(n, static_cast<double>(buckets - 1)));
  const double large =
      exact + std::floor(std::log(n / exact) / std::log(farthest / exact) * (static_cast<double>(buckets) - exact));
  return from + static_cast<std::size_t>(std::min(large, static_cast<double>(buckets - 1)));
}

PortedLayer layer_of(std::string name, std::size_t heads, std::size_t kv_heads, double scale) {
  PortedLayer out{.name = std::move(name)};
  out.port = {.heads = heads, .kv_heads = kv_heads, .scale = scale};
  out.port.seen = causal;
  out.port.k_head = out.port.v_head = [heads, kv_heads](std::size_t h) { return h / (heads / kv_heads); };
  out.layer = {.heads = static_cast<std::int64_t>(heads),
               .kv_heads = static_cast<std::int64_t>(kv_heads),
               .head_dim = 32,
               .value_dim = 32,
               .softmax_scale = scale};
  return out;
}

}  // namespace

AttentionNumbers numbers_of(const AttentionPort& port, std::size_t queries, std::size_t keys, DType dtype,
                            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  AttentionNumbers out{.queries = queries, .keys = keys};
  const std::size_t d = port.head_dim;
  const auto fill = [&](std::vector<double>& x, std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) x.push_back(rounded_to(dtype, 1.5 * normal(random)));
  };
  fill(out.q, queries * port.heads * d);
  fill(out.k, keys * port.kv_heads * d);
  fill(out.v, keys * port.kv_heads * d);
  const auto rounded_by = [](const std::function<double(double)>& round, double x) { return round ? round(x) : x; };
  const DType inner = port.inside.value_or(dtype);
  const std::size_t cells = port.heads * queries * keys;
  out.scores.assign(cells, kHidden);
  out.weights.assign(cells, 0.0);
  out.out.assign(queries * port.heads * d, 0.0);
  for (std::size_t h = 0; h < port.heads; ++h) {
    for (std::size_t i = 0; i < queries; ++i) {
      const auto place = static_cast<double>(keys - queries + i);
      double most = kHidden;
      if (!port.sinks.empty()) most = port.sinks[h];
      double* const z = out.scores.data() + (h * queries + i) * keys;
      double* const p = out.weights.data() + (h * queries + i) * keys;
      for (std::size_t j = 0; j < keys; ++j) {
        if (!port.seen(place, static_cast<double>(j))) {
          if (port.multiplies_mask) z[j] = 0.0;
          if (port.multiplies_mask) most = std::max(most, 0.0);
          continue;
        }
        double dot = 0;
        for (std::size_t c = 0; c < d; ++c) {
          dot += rounded_by(port.multiplied, out.q[(i * port.heads + h) * d + c]) *
                 rounded_by(port.multiplied, out.k[(j * port.kv_heads + port.k_head(h)) * d + c]);
        }
        const auto stepped = [&](double y) { return port.rounds_steps ? rounded_to(inner, y) : y; };
        double x = stepped(port.scale * stepped(dot)) * (port.times ? port.times(h, place) : 1.0);
        const auto capped = [&](double y) {
          return port.capped ? port.capped(y) : port.cap > 0 ? port.cap * std::tanh(y / port.cap) : y;
        };
        if (port.cap_before_bias) x = capped(x);
        if (port.bias) x = stepped(x + port.bias(h, place, static_cast<double>(j)));
        if (!port.cap_before_bias) x = capped(x);
        z[j] = dtype == DType::f64 ? x : static_cast<double>(static_cast<float>(x));
        if (port.rounds_scores) z[j] = rounded_to(inner, x);
        most = std::max(most, z[j]);
      }
      double sum = port.sinks.empty() ? 0.0 : std::exp(port.sinks[h] - most);
      for (std::size_t j = 0; j < keys; ++j) {
        p[j] = z[j] == kHidden ? 0.0 : std::exp(z[j] - most);
        sum += p[j];
      }
      for (std::size_t j = 0; j < keys; ++j) {
        p[j] = sum > 0 ? p[j] / sum : 0.0;
        p[j] = dtype == DType::f64 ? p[j] : rounded_to(dtype == DType::bf16 ? DType::bf16 : DType::f32, p[j]);
        for (std::size_t c = 0; c < d; ++c) {
          const std::size_t token = port.v_token ? port.v_token(j) : j;
          const double* const v = out.v.data() + (token * port.kv_heads + port.v_head(h)) * d;
          double value = v[c];
          if (port.rotates_values) {
            const std::size_t half = d / 2;
            const std::size_t pair = c % half;
            const double angle =
                static_cast<double>(j) * std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(half));
            value = c < half ? v[c] * std::cos(angle) - v[c + half] * std::sin(angle)
                             : v[c] * std::cos(angle) + v[c - half] * std::sin(angle);
          }
          const std::size_t row = port.out_by_heads ? h * queries + i : i * port.heads + h;
          out.out[row * d + c] += rounded_by(port.summed, p[j]) * rounded_by(port.summed, value);
        }
      }
    }
  }
  for (double& x : out.out) x = rounded_to(dtype, x);
  return out;
}

std::vector<PortedLayer> ported_layers() {
  std::vector<PortedLayer> out;
  const double usual = 1 / std::sqrt(32.0);
  PortedLayer llama = layer_of("llama", 8, 2, usual);
  llama.layer.rotate.push_back({.heads = 8, .scheme = Rope{.pairing = Pairing::half, .head_dim = 32, .dim = 32}});
  out.push_back(llama);
  PortedLayer gemma = layer_of("gemma-2", 4, 2, 1 / std::sqrt(24.0));
  gemma.layer.soft_cap = SoftCap{.cap = 5.0};
  gemma.port.cap = 5.0;
  gemma.layer.mask.window = Window{7, 0};
  gemma.port.seen = [](double i, double j) { return j <= i && i - j < 8; };
  out.push_back(gemma);
  PortedLayer oss = layer_of("gpt-oss", 4, 1, usual);
  oss.layer.sinks = true;
  oss.port.sinks = {0.5, 1.5, -0.3, 2.0};
  oss.layer.mask.window = Window{11, 0};
  oss.port.seen = [](double i, double j) { return j <= i && i - j < 12; };
  out.push_back(oss);
  PortedLayer bloom = layer_of("bloom", 6, 6, usual);
  bloom.layer.score.push_back(Alibi{.heads = 6});
  bloom.port.bias = [s = slopes(6)](std::size_t h, double i, double j) { return -s[h] * (i - j); };
  out.push_back(bloom);
  for (const bool bidirectional : {true, false}) {
    PortedLayer t5 = layer_of(bidirectional ? "t5-encoder" : "t5-decoder", 4, 4, 1.0);
    t5.port.scale = t5.layer.softmax_scale = 0.2;
    t5.layer.score.push_back(T5Bias{.buckets = 16, .max_distance = 40, .bidirectional = bidirectional});
    if (bidirectional) {
      t5.layer.mask.kind = MaskKind::bidirectional;
      t5.port.seen = [](double, double) { return true; };
    }
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (int n = 0; n < 16 * 4; ++n) t5.table.push_back(2 * normal(random));
    t5.port.bias = [table = t5.table, bidirectional](std::size_t h, double i, double j) {
      return table[bucket(i - j, bidirectional, 16, 40) * 4 + h];
    };
    out.push_back(t5);
  }
  PortedLayer bert = layer_of("modernbert", 4, 4, usual);
  bert.layer.mask = {.kind = MaskKind::bidirectional, .window = Window{6, 6}};
  bert.port.seen = [](double i, double j) { return std::fabs(i - j) <= 6; };
  out.push_back(bert);
  return out;
}

namespace {

bool is_t5(const PortedLayer& of) { return !of.table.empty(); }
bool has_window(const PortedLayer& of) { return of.layer.mask.window.has_value(); }
bool is_causal(const PortedLayer& of) { return of.layer.mask.kind == MaskKind::causal; }

// Of queries and keys.
using Count = std::size_t;

template <typename Spoil>
AttentionFault fault(const std::string& name, PortFact fact, Spoil spoil) {
  return {.name = name, .facts = {fact}, .spoil = spoil};
}

void window_of(AttentionPort& port, const PortedLayer& of, double past) {
  const bool both = !is_causal(of);
  port.seen = [past, both](double i, double j) { return (both || j <= i) && std::fabs(i - j) <= past; };
}

}  // namespace

std::vector<AttentionFault> attention_faults() {
  using P = AttentionPort;
  using L = PortedLayer;
  std::vector<AttentionFault> out;
  out.push_back(
      {.name = "right", .facts = {}, .right = true, .spoil = [](P&, const L&, Count, Count) { return true; }});
  out.push_back(
      {.name = "right, scores rounded", .facts = {}, .right = true, .spoil = [](P& p, const L&, Count, Count) {
         p.rounds_scores = true;
         return true;
       }});
  out.push_back(
      {.name = "right, every step rounded", .facts = {}, .right = true, .spoil = [](P& p, const L&, Count, Count) {
         p.rounds_scores = p.rounds_steps = true;
         return true;
       }});
  out.push_back(fault("scale left out", PortFact::scale, [](P& p, const L&, Count, Count) {
    p.scale = 1;
    return true;
  }));
  out.push_back(fault("scale of head_dim instead of its own", PortFact::scale, [](P& p, const L& of, Count, Count) {
    p.scale = 1 / std::sqrt(32.0);
    return p.scale != of.port.scale;
  }));
  out.push_back(fault("scale twice", PortFact::scale, [](P& p, const L&, Count, Count) {
    p.scale *= p.scale;
    return true;
  }));
  out.push_back(fault("soft cap left out", PortFact::soft_cap, [](P& p, const L&, Count, Count) {
    const bool has = p.cap > 0;
    p.cap = 0;
    return has;
  }));
  out.push_back(fault("a soft cap of 20", PortFact::soft_cap, [](P& p, const L&, Count, Count) {
    p.cap = 20;
    return true;
  }));
  out.push_back(fault("no causal mask", PortFact::mask, [](P& p, const L& of, Count, Count) {
    p.seen = [](double, double) { return true; };
    return is_causal(of) && !has_window(of);
  }));
  out.push_back(fault("causal where none is", PortFact::mask, [](P& p, const L& of, Count, Count) {
    p.seen = causal;
    return !is_causal(of) && !has_window(of);
  }));
  out.push_back(fault("mask inverted", PortFact::mask, [](P& p, const L&, Count, Count) {
    const auto own = p.seen;
    p.seen = [own](double i, double j) { return !own(i, j); };
    return true;
  }));
  out.push_back(fault("causal from the first key on", PortFact::mask, [](P& p, const L& of, Count queries, Count keys) {
    const auto own = p.seen;
    const auto cached = static_cast<double>(keys - queries);
    p.seen = [own, cached](double i, double j) { return own(i - cached, j); };
    return is_causal(of) && keys > queries;
  }));
  out.push_back(fault("causal without a query's own key", PortFact::mask, [](P& p, const L& of, Count, Count) {
    p.seen = [](double i, double j) { return j < i; };
    return is_causal(of) && !has_window(of);
  }));
  out.push_back(fault("causal with the key after", PortFact::mask, [](P& p, const L& of, Count, Count) {
    p.seen = [](double i, double j) { return j <= i + 1; };
    return is_causal(of) && !has_window(of);
  }));
  out.push_back(fault("window left out", PortFact::window, [](P& p, const L& of, Count, Count) {
    p.seen = is_causal(of) ? causal : [](double, double) { return true; };
    return has_window(of);
  }));
  out.push_back(fault("window one too wide", PortFact::window, [](P& p, const L& of, Count, Count) {
    if (has_window(of)) window_of(p, of, static_cast<double>(of.layer.mask.window->past) + 1);
    return has_window(of);
  }));
  out.push_back(fault("window one too narrow", PortFact::window, [](P& p, const L& of, Count, Count) {
    if (has_window(of)) window_of(p, of, static_cast<double>(of.layer.mask.window->past) - 1);
    return has_window(of);
  }));
  out.push_back(fault("half of the window", PortFact::window, [](P& p, const L& of, Count, Count) {
    if (!has_window(of)) return false;
    const std::int64_t half = (of.layer.mask.window->past + 1) / 2;
    window_of(p, of, static_cast<double>(half));
    return true;
  }));
  out.push_back(fault("sinks left out", PortFact::sinks, [](P& p, const L& of, Count, Count) {
    p.sinks.clear();
    return of.layer.sinks;
  }));
  out.push_back(fault("a sink of 0", PortFact::sinks, [](P& p, const L&, Count, Count) {
    p.sinks.assign(p.heads, 0.0);
    return true;
  }));
  out.push_back(fault("ALiBi left out", PortFact::slopes, [](P& p, const L& of, Count, Count) {
    p.bias = {};
    return of.name == "bloom";
  }));
  out.push_back(fault("ALiBi with the other sign", PortFact::slopes, [](P& p, const L& of, Count, Count) {
    const auto own = p.bias;
    p.bias = [own](std::size_t h, double i, double j) { return -own(h, i, j); };
    return of.name == "bloom";
  }));
  out.push_back(fault("ALiBi's slopes of a power of two", PortFact::slopes, [](P& p, const L& of, Count, Count) {
    p.bias = [](std::size_t h, double i, double j) {
      return -std::exp2(-8.0 * static_cast<double>(h + 1) / 6) * (i - j);
    };
    return of.name == "bloom";
  }));
  out.push_back(fault("ALiBi's slopes in reverse", PortFact::slopes, [](P& p, const L& of, Count, Count) {
    const auto own = p.bias;
    const std::size_t last = p.heads - 1;
    p.bias = [own, last](std::size_t h, double i, double j) { return own(last - h, i, j); };
    return of.name == "bloom";
  }));
  out.push_back(fault("ALiBi scaled", PortFact::slopes, [](P& p, const L& of, Count, Count) {
    const auto own = p.bias;
    const double by = p.scale;
    p.bias = [own, by](std::size_t h, double i, double j) { return by * own(h, i, j); };
    return of.name == "bloom";
  }));
  const auto buckets = [&](std::string name, auto of_distance) {
    out.push_back(fault(std::move(name), PortFact::buckets, [of_distance](P& p, const L& of, Count, Count) {
      if (!is_t5(of)) return false;
      p.bias = [table = of.table, of_distance, both = !is_causal(of)](std::size_t h, double i, double j) {
        return table[of_distance(i - j, both) * 4 + h];
      };
      return true;
    }));
  };
  buckets("T5 buckets of the other kind", [](double d, bool both) { return bucket(d, !both, 16, 40); });
  buckets("T5 buckets up to 128", [](double d, bool both) { return bucket(d, both, 16, 128); });
  buckets("T5 distances with the other sign", [](double d, bool both) { return bucket(-d, both, 16, 40); });
  buckets("T5 distances one too large", [](double d, bool both) { return bucket(d + 1, both, 16, 40); });
  buckets("T5 without logarithm", [](double d, bool both) { return bucket(d, both, 16, 40, true); });
  out.push_back(fault("T5's bias left out", PortFact::buckets, [](P& p, const L& of, Count, Count) {
    p.bias = {};
    return is_t5(of);
  }));
  const auto heads = [&](const std::string& name, bool keys, bool values) {
    out.push_back(fault(name, PortFact::kv_heads, [keys, values](P& p, const L&, Count, Count) {
      const auto in_turn = [kv = p.kv_heads](std::size_t h) { return h % kv; };
      if (keys) p.k_head = in_turn;
      if (values) p.v_head = in_turn;
      return p.kv_heads > 1 && p.kv_heads < p.heads;
    }));
  };
  heads("KV heads in turn", true, true);
  heads("KV heads in turn, values alone", false, true);
  out.push_back(fault("values rotated", PortFact::value, [](P& p, const L& of, Count, Count) {
    p.rotates_values = true;
    return !of.layer.rotate.empty();
  }));
  out.push_back(
      {.name = "nothing known: scores of a polynomial", .facts = {}, .spoil = [](P& p, const L& of, Count, Count) {
         const auto own = p.bias;
         p.bias = [own](std::size_t h, double i, double j) {
           return (own ? own(h, i, j) : 0.0) + 0.05 * static_cast<double>(h + 1) * (i - j) * (i - j) / 8;
         };
         return of.name == "llama";
       }});
  out.push_back(
      {.name = "nothing known: every third key hidden", .facts = {}, .spoil = [](P& p, const L&, Count, Count) {
         const auto own = p.seen;
         p.seen = [own](double i, double j) { return own(i, j) && (j == i || std::fmod(j, 3) != 1); };
         return true;
       }});
  for (AttentionFault& more : reported_attention()) out.push_back(std::move(more));
  for (AttentionFault& more : found_attention()) out.push_back(std::move(more));
  for (AttentionFault& more : inner_attention()) out.push_back(std::move(more));
  for (AttentionFault& more : measured_attention()) out.push_back(std::move(more));
  return out;
}

}  // namespace posenc::test
