#include "fuzz/calls/scheme_layers.h"

#include <algorithm>
#include <cmath>

namespace posenc::fuzz {
namespace {

constexpr std::array<std::int64_t, 16> kQueries{9, 1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 49, 0, 1, 1, 6};
constexpr std::array<std::int64_t, 16> kKeys{9, 1, 2, 7, 12, 16, 17, 31, 63, 64, 65, 70, 130, 0, 5, 20};

std::vector<std::int32_t> cuts(Arguments& arguments, std::int64_t rows, std::size_t sequences) {
  std::vector<std::int32_t> out{0};
  while (out.size() < sequences) {
    const std::int64_t left = rows - out.back();
    out.push_back(out.back() + static_cast<std::int32_t>(arguments.whole(0, std::min<std::int64_t>(left, 60))));
  }
  out.push_back(static_cast<std::int32_t>(rows));
  return out;
}

QueryScale query_scale_of(Arguments& arguments) {
  switch (arguments.byte() % 6) {
    case 1: return Llama4Temperature{.attn_scale = 0.25, .floor_scale = static_cast<double>(arguments.whole(0, 20))};
    case 2: return MinistralTemperature{.beta = 0.5, .original_max_position_embeddings = arguments.whole(0, 20)};
    case 3: return LogNScale{.seq_length = arguments.whole(0, 20)};
    case 4: return BeamTemperature{.exponent = 0.5, .length = static_cast<double>(arguments.whole(0, 20))};
    case 5: return InklingTemperature{.alpha = 0.5, .floor = static_cast<double>(arguments.whole(0, 20))};
    default: return {};
  }
}

Regions regions_of(Arguments& arguments) {
  const std::int64_t a = arguments.whole(0, 12);
  const std::int64_t b = arguments.whole(0, 12);
  switch (arguments.byte() % 5) {
    case 1: return SelfExtend{.group = a, .window = b};
    case 2: return ReRope{.window = a};
    case 3: return ReRope{.window = a, .step = 1.0 + static_cast<double>(b) / 4};
    case 4: return DualChunk{.chunk = a, .local = b, .trained = a + b};
    default: return {};
  }
}

Window window_of(Arguments& arguments) {
  const auto side = [&] { return arguments.chance(16) ? arguments.odd_whole() : arguments.whole(0, 12); };
  return {.past = side(), .future = side()};
}

}  // namespace

test::SchemeCase scheme_of(Arguments& arguments) {
  static const std::vector<test::SchemeCase> all = test::all_schemes();
  return all[arguments.byte() % all.size()];
}

test::Arrangement arrangement_of(Arguments& arguments) {
  static const std::vector<test::Arrangement> usual = test::arrangements();
  const std::uint8_t which = arguments.byte();
  if (which < 64) return usual[which % usual.size()];
  test::Arrangement out{.mask = {.kind = static_cast<MaskKind>(which % 4)},
                        .queries = arguments.choice(kQueries),
                        .keys = arguments.choice(kKeys)};
  if (out.mask.kind == MaskKind::prefix) out.prefix = arguments.whole(0, 8);
  if (arguments.chance(96)) out.mask.window = window_of(arguments);
  if (arguments.chance(64)) out.mask.chunk = arguments.whole(0, 12);
  if (arguments.chance(64)) {
    out.batch = arguments.whole(1, 3);
    out.queries = std::min<std::int64_t>(out.queries, 20);
    out.keys = std::min<std::int64_t>(out.keys, 20);
  } else if (arguments.chance(64)) {
    const auto sequences = static_cast<std::size_t>(arguments.whole(1, 4));
    out.cu_seqlens_q = cuts(arguments, out.queries, sequences);
    out.cu_seqlens_k = cuts(arguments, out.keys, sequences);
  }
  out.orders_are_given = arguments.chance(32);
  return out;
}

void change_layer(Arguments& arguments, LayerPlan& layer) {
  constexpr std::array<double, 5> kScales{0.25, 0.0, -0.5, 1.0, 3.0};
  switch (arguments.byte() % 15) {
    case 0: layer.kv_heads = arguments.whole(1, 4); return;
    case 1: layer.softmax_scale = arguments.chance(64) ? arguments.odd_real() : arguments.choice(kScales); return;
    case 2:
      layer.soft_cap = SoftCap{.cap = arguments.chance(64) ? arguments.odd_real() : arguments.choice(kScales),
                               .order = arguments.enumerator(SoftCap::Order::before_bias)};
      return;
    case 3: layer.query_scale = query_scale_of(arguments); return;
    case 4: layer.regions = regions_of(arguments); return;
    case 5: layer.kind = arguments.enumerator(LayerKind::none); return;
    case 6: layer.value_dim = arguments.whole(0, 20); return;
    case 7: layer.head_dim = arguments.whole(0, 20); return;
    case 8: layer.qk_norm = QkNorm{.order = arguments.enumerator(QkNorm::Order::after)}; return;
    case 9: layer.mask.kind = arguments.enumerator(MaskKind::sparse); return;
    case 10: layer.score.push_back(Alibi{.heads = layer.heads, .symmetric = arguments.chance(128)}); return;
    case 11: layer.sinks = !layer.sinks; return;
    case 12:
      if (!layer.rotate.empty()) layer.rotate.front().offset = arguments.odd_whole();
      return;
    case 13:
      layer.added.push_back({.to = arguments.enumerator(AddedTo::hidden_states),
                             .how = arguments.enumerator(AddedHow::beside),
                             .gated = arguments.chance(128),
                             .scheme = FourierInput{}});
      return;
    default: layer.heads = arguments.whole(0, 8); return;
  }
}

}  // namespace posenc::fuzz
