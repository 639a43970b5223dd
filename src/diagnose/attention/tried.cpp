#include "diagnose/attention/tried.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/tried_biases.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

using Tried = std::vector<AttentionTried>;

void add(Tried& out, const AttentionTried& of, Change change, AttentionStage first = AttentionStage::scores) {
  out.push_back(changed(of, std::move(change), first));
}

// ---- scale and cap ----

void add_scales(const LayerPlan& layer, const AttentionTried& plan, Tried& out) {
  const double own = layer.softmax_scale;
  struct Scale {
    double scale;
    std::string words;
  };
  const auto d = static_cast<double>(layer.head_dim);
  std::vector<Scale> scales{{1.0, "1, left out"},
                            {own * own, "applied twice"},
                            {std::sqrt(own), "its square root"},
                            {1 / std::sqrt(d), "1 / sqrt(head_dim)"},
                            {1 / d, "1 / head_dim"},
                            {std::sqrt(d), "sqrt(head_dim), multiplied instead of divided by"},
                            {1 / std::sqrt(static_cast<double>(layer.value_dim)), "1 / sqrt(value_dim)"},
                            {1 / std::sqrt(d * static_cast<double>(layer.heads)), "1 / sqrt(hidden size)"},
                            {std::log2(std::exp(1.0)) * own, "times log2(e), for exp2, but with exp"},
                            {std::log(2.0) * own, "exp2 instead of exp"}};
  for (const Rotate& rotate : layer.rotate) {
    const Rope& of = rope(rotate);
    if (of.dim != layer.head_dim) {
      scales.push_back({1 / std::sqrt(static_cast<double>(of.dim)), "1 / sqrt(rotated channels)"});
      if (of.dim < layer.head_dim) {
        scales.push_back(
            {1 / std::sqrt(static_cast<double>(layer.head_dim - of.dim)), "1 / sqrt(channels not rotated)"});
      }
    }
    const double multiplier = softmax_multiplier(of.scaling);
    if (multiplier != 1) {
      scales.push_back({own / multiplier, "without YaRN's mscale squared"});
      scales.push_back({own / std::sqrt(multiplier), "with YaRN's mscale once"});
      scales.push_back({own * multiplier, "with YaRN's mscale squared twice"});
    }
    if (const Frequencies f = frequencies(of); f.attention_factor != 1) {
      scales.push_back({own * f.attention_factor * f.attention_factor, "with the attention factor twice"});
    }
  }
  std::vector<double> seen{own};
  for (const Scale& scale : scales) {
    const auto same = [&](double x) { return std::fabs(x - scale.scale) <= 1e-9 * x; };
    if (std::ranges::any_of(seen, same)) continue;
    seen.push_back(scale.scale);
    AttentionTried tried = plan;
    tried.content_times = scale.scale / own;
    add(out, tried,
        {PortFact::scale, formatted("{:.6g}: {}", scale.scale, scale.words), formatted("{:.6g}", own),
         formatted("multiply QK^T by {:.6g}", own)});
  }
}

std::string_view order_words(SoftCap::Order order) {
  return order == SoftCap::Order::after_bias ? "after the bias" : "before the bias";
}

void add_caps(const LayerPlan& layer, const AttentionTried& plan, Tried& out) {
  const auto other = [&](std::optional<SoftCap> cap, std::string found, std::string mend) {
    AttentionTried tried = plan;
    tried.cap = cap;
    const std::string expected = layer.soft_cap ? formatted("{:.6g}", layer.soft_cap->cap) : std::string("none");
    add(out, tried, {PortFact::soft_cap, std::move(found), expected, std::move(mend)});
  };
  if (!layer.soft_cap) {
    for (const double cap : {20.0, 30.0, 50.0}) {
      other(SoftCap{cap, SoftCap::Order::after_bias}, formatted("{:.6g}", cap), "scores have no soft cap");
    }
    return;
  }
  const double cap = layer.soft_cap->cap;
  const SoftCap::Order order = layer.soft_cap->order;
  other({}, "left out", formatted("z = {0:.6g} tanh(y / {0:.6g})", cap));
  for (const double number : {20.0, 30.0, 50.0}) {
    if (number != cap) other(SoftCap{number, order}, formatted("{:.6g}", number), formatted("the cap is {:.6g}", cap));
  }
  if (!layer.score.empty()) {
    const SoftCap::Order late =
        order == SoftCap::Order::after_bias ? SoftCap::Order::before_bias : SoftCap::Order::after_bias;
    other(SoftCap{cap, late}, std::string(order_words(late)), formatted("cap {}", order_words(order)));
  }
  if (!layer.score.empty()) return;
  const auto made = [&](auto capped, std::string found, std::string expected, std::string mend) {
    AttentionTried tried = plan;
    Scores content = *plan.content;
    for (double& x : content) x = capped(x);
    tried.content = kept(std::move(content));
    tried.cap.reset();
    add(out, tried, {PortFact::soft_cap, std::move(found), std::move(expected), std::move(mend)});
  };
  // tanh of scores that are larger.
  if (layer.softmax_scale != 1) {
    made([&](double x) { return layer.softmax_scale * cap * std::tanh(x / layer.softmax_scale / cap); },
         "before the softmax scale", "after it", "multiply QK^T by the softmax scale first, then cap");
  }
  const std::string whole = formatted("z = {0:.6g} tanh(y / {0:.6g})", cap);
  made([&](double x) { return cap * std::tanh(x); }, formatted("z = {:.6g} tanh(y)", cap), whole,
       formatted("divide by {:.6g} before the tanh", cap));
  made([&](double x) { return std::tanh(x / cap); }, formatted("z = tanh(y / {:.6g})", cap), whole,
       formatted("multiply by {:.6g} after the tanh", cap));
}

// ---- masks ----

std::string window_words(const std::optional<Window>& window) {
  if (!window) return "none";
  if (window->future == 0) return formatted("{} tokens", window->past + 1);
  return formatted("{} to the left, {} to the right", window->past, window->future);
}

void add_masks(const AttentionDumpArgs& args, const DumpedAttention& dumped, const AttentionTried& plan, Tried& out) {
  const LayerPlan& layer = *args.layer;
  const auto with = [&](Seen seen, Change change) {
    AttentionTried tried = plan;
    tried.seen = kept(std::move(seen));
    tried.of_mask = true;
    // Scores may be dumped before the mask: then the softmax has it.
    add(out, tried, std::move(change), dumped.masked ? AttentionStage::scores : AttentionStage::weights);
  };
  const auto mask_change = [&](std::string found, std::string mend) {
    return Change{PortFact::mask, std::move(found), std::string(name(layer.mask.kind)), std::move(mend)};
  };
  const auto of_kind = [&](MaskKind kind, const char* found) {
    Mask other = layer.mask;
    other.kind = kind;
    with(seen_keys(other, args, dumped), mask_change(found, formatted("the mask is {}", name(layer.mask.kind))));
  };
  const bool causal = layer.mask.kind == MaskKind::causal;
  if (!causal) of_kind(MaskKind::causal, "causal");
  if (causal) of_kind(MaskKind::bidirectional, "none: queries see later keys");
  Seen inverted = *plan.seen;
  for (char& seen : inverted) seen = seen == 0 ? 1 : 0;
  with(std::move(inverted), mask_change("inverted: what should be seen is hidden", "exchange seen and hidden"));
  // Scores times a mask of ones and zeros, unless they were dumped and are something else.
  bool are_zeros = true;
  for (std::size_t n = 0; n < dumped.scores.size(); ++n) {
    const std::size_t cell = n % plan.seen->size();
    are_zeros = are_zeros && ((*plan.seen)[cell] != 0 || dumped.scores[n] == 0);
  }
  AttentionTried zeros = plan;
  Scores content = *plan.content;
  Scores bias = *plan.bias;
  for (std::size_t n = 0; n < content.size(); ++n) {
    const std::size_t row = n / dumped.keys % dumped.queries;
    if ((*plan.seen)[row * dumped.keys + n % dumped.keys] == 0) content[n] = bias[n] = 0.0;
  }
  zeros.content = kept(std::move(content));
  zeros.bias = kept(std::move(bias));
  zeros.seen = kept(Seen(plan.seen->size(), 1));
  zeros.of_mask = true;
  if (are_zeros) {
    add(out, zeros, mask_change("scores of hidden keys are 0", "hide keys by minus infinity, before the softmax"),
        dumped.masked ? AttentionStage::scores : AttentionStage::weights);
  }
  if (!dumped.given.empty()) {
    DumpedAttention all = dumped;
    all.given.clear();
    with(seen_keys(layer.mask, args, all), mask_change("attn_mask left out", "hide what attn_mask hides"));
  }
  if (causal) {
    const std::int64_t before = dumped.last_order - (dumped.all_queries - 1);
    if (before > 0) {
      with(seen_keys(layer.mask, args, dumped, -before),
           mask_change("causal from the first key on: query i sees keys up to i, as if nothing were cached",
                       formatted("the first query stands at {}: add that to its row of the mask", before)));
    }
    with(seen_keys(layer.mask, args, dumped, -1), mask_change("causal, off by one: a query does not see its own key",
                                                              "a query sees keys up to its own: j <= i"));
    with(seen_keys(layer.mask, args, dumped, 1), mask_change("causal, off by one: a query sees the key after its own",
                                                             "a query sees keys up to its own: j <= i"));
  }
  if (layer.mask.chunk) {
    Mask other = layer.mask;
    other.chunk.reset();
    with(seen_keys(other, args, dumped),
         mask_change("without chunks", formatted("chunks of {} tokens", *layer.mask.chunk)));
    other.window = Window{*layer.mask.chunk - 1, 0};
    with(seen_keys(other, args, dumped),
         mask_change("a sliding window instead of chunks", formatted("chunks of {} tokens", *layer.mask.chunk)));
  }
  // ---- windows ----
  std::vector<std::optional<Window>> windows;
  const auto window = [&](std::int64_t past, std::int64_t future) {
    if (past >= 0 && future >= 0) windows.push_back(Window{past, future});
  };
  if (layer.mask.window) {
    const Window& own = *layer.mask.window;
    windows.push_back({});
    const bool both = own.future > 0;
    for (const std::int64_t by : {-1, 1}) window(own.past + by, both ? own.future + by : own.future);
    if (both) {
      for (const std::int64_t by : {-1, 1}) window(own.past, own.future + by);
      for (const std::int64_t by : {-1, 1}) window(own.past + by, own.future);
      window(own.past, 0);
      window(2 * own.past, 2 * own.future);
    }
    window((own.past + 1) / 2 - 1, both ? (own.future + 1) / 2 : 0);
    window((own.past + 1) / 2, both ? (own.future + 1) / 2 : 0);
    window(2 * (own.past + 1) - 1, own.future);
  }
  if (args.plan != nullptr) {
    for (const Stack& stack : args.plan->stacks) {
      for (const LayerPlan& other : stack.layers) {
        if (other.mask.window && other.mask.kind == layer.mask.kind && windows.size() < 24)
          windows.push_back(other.mask.window);
      }
    }
  }
  std::vector<std::optional<Window>> seen{layer.mask.window};
  for (const std::optional<Window>& one : windows) {
    if (std::ranges::find(seen, one) != seen.end()) continue;
    seen.push_back(one);
    Mask other = layer.mask;
    other.window = one;
    with(seen_keys(other, args, dumped),
         {PortFact::window, window_words(one), window_words(layer.mask.window),
          layer.mask.window && layer.mask.window->future == 0
              ? formatted("a query sees itself and the {} keys before it", layer.mask.window->past)
              : std::string("take the window of the layer itself")});
  }
}

// ---- rotation ----

// Queries and keys that were dumped on the other side of the rotation than is said, or that were not rotated.
void add_rotation(const AttentionDumpArgs& args, const DumpedAttention& dumped, const AttentionTried& plan,
                  Tried& out) {
  if (args.layer->rotate.empty()) return;
  AttentionDumpArgs other = args;
  other.rotated = !args.rotated;
  AttentionTried tried = plan;
  try {
    tried.content = kept(content_scores(*args.layer, other, dumped));
  } catch (const Error&) {
    return;  // a rule that asks for a length, which a dump has not
  }
  add(out, tried,
      args.rotated
          ? Change{PortFact::rotation, "queries and keys that are rotated after they were dumped", "rotated ones",
                   "dump them behind the rotation, or say that they are not rotated yet (--unrotated)"}
          : Change{PortFact::rotation, "queries and keys as they were dumped, without a rotation", "rotated",
                   "rotate queries and keys; if they were dumped behind the rotation, do not say --unrotated"});
}

// ---- sinks, KV heads, values ----

std::vector<double> sinks_of(const AttentionDumpArgs& args, std::size_t heads) {
  std::vector<double> out;
  const ConstTensorView& view = args.learned.sinks;
  if (view.empty()) return out;
  for (std::size_t h = 0; h < heads; ++h) {
    out.push_back(reference::read(view, static_cast<std::int64_t>(h) * view.strides[0]));
  }
  return out;
}

void add_others(const AttentionDumpArgs& args, const DumpedAttention& dumped, const AttentionTried& plan, Tried& out) {
  const LayerPlan& layer = *args.layer;
  if (layer.sinks) {
    AttentionTried tried = plan;
    tried.sinks.clear();
    add(out, tried,
        {PortFact::sinks, "left out", "one for each head", "add exp(sink) to the sum that the softmax divides by"},
        AttentionStage::weights);
    tried.sinks.assign(dumped.heads, 0.0);
    add(out, tried, {PortFact::sinks, "0 in all heads", "one for each head", "read the sinks from the checkpoint"},
        AttentionStage::weights);
    tried.sinks = plan.sinks;
    std::ranges::reverse(tried.sinks);
    add(out, tried, {PortFact::sinks, "heads in reverse", "one for each head", "head h has the h-th sink"},
        AttentionStage::weights);
    tried.sinks = plan.sinks;
    for (double& sink : tried.sinks) sink = -sink;
    add(out, tried, {PortFact::sinks, "negated", "as they are", "do not negate the sinks"}, AttentionStage::weights);
    if (layer.softmax_scale != 1) {
      tried.sinks = plan.sinks;
      for (double& sink : tried.sinks) sink *= layer.softmax_scale;
      add(out, tried, {PortFact::sinks, "times the softmax scale", "as they are", "do not scale the sinks"},
          AttentionStage::weights);
    }
  } else {
    AttentionTried tried = plan;
    tried.sinks.assign(dumped.heads, 0.0);
    add(out, tried,
        {PortFact::sinks, "1 is added to the sum that the softmax divides by", "no sinks", "a plain softmax"},
        AttentionStage::weights);
  }
  if (layer.kv_heads > 1 && layer.kv_heads < layer.heads) {
    const Change change{PortFact::kv_heads, "repeated in turn: head h has KV head h mod kv_heads",
                        "head h has KV head h / (heads / kv_heads)",
                        "repeat_interleave the KV heads, do not tile them"};
    AttentionTried keys = plan;
    keys.content = kept(content_scores(layer, args, dumped, in_turn(dumped)));
    Change of_keys = change;
    of_keys.found = "keys " + change.found;
    add(out, keys, of_keys);
    if (plan.v) {
      AttentionTried both = keys;
      both.v_of = in_turn(dumped);
      add(out, both, change);
      AttentionTried values = plan;
      values.v_of = in_turn(dumped);
      Change of_values = change;
      of_values.found = "values " + change.found;
      add(out, values, of_values, AttentionStage::out);
    }
  }
  if (!plan.v) return;
  const auto of_value = [&](std::vector<double> v, Change change) {
    AttentionTried tried = plan;
    tried.v = kept(std::move(v));
    add(out, tried, std::move(change), AttentionStage::out);
  };
  const auto row = static_cast<std::ptrdiff_t>(dumped.kv_heads * dumped.value_dim);
  if (dumped.keys > 1) {
    std::vector<double> late(dumped.v.begin(), dumped.v.end() - row);
    late.insert(late.begin(), static_cast<std::size_t>(row), 0.0);
    of_value(std::move(late), {PortFact::value, "those of the token before", "each token's own",
                               "write keys and values of a token to one place of the cache"});
    std::vector<double> early(dumped.v.begin() + row, dumped.v.end());
    early.insert(early.end(), static_cast<std::size_t>(row), 0.0);
    of_value(std::move(early), {PortFact::value, "those of the token after", "each token's own",
                                "write keys and values of a token to one place of the cache"});
  }
  if (dumped.keys > 2) {
    for (const bool is_late : {true, false}) {
      std::vector<double> rolled = dumped.v;
      std::rotate(rolled.begin(), is_late ? rolled.end() - row : rolled.begin() + row, rolled.end());
      of_value(std::move(rolled), {PortFact::value,
                                   formatted("rolled by one: those of the token {}, {}", is_late ? "before" : "after",
                                             is_late ? "the first has the last one's" : "the last has the first one's"),
                                   "each token's own", "do not roll values, nor their places in the cache"});
    }
  }
  if (dumped.heads > 1 && dumped.queries > 1 && static_cast<std::int64_t>(dumped.queries) == dumped.all_queries) {
    AttentionTried tried = plan;
    tried.out_by_heads = true;
    add(out, tried,
        {PortFact::layout, "[heads, tokens, channels] read as [tokens, heads, channels]", "[tokens, heads, channels]",
         "transpose heads and tokens of the output before it is reshaped"},
        AttentionStage::out);
  }
  if (auto rotated = rotated_values(layer, dumped)) {
    AttentionTried tried = plan;
    tried.v = kept(std::move(*rotated));
    add(out, tried, {PortFact::value, "rotated as keys are", "not rotated", "rotate queries and keys alone"},
        AttentionStage::out);
  }
}

}  // namespace

std::vector<AttentionTried> tried_attention(const AttentionDumpArgs& args, const DumpedAttention& dumped) {
  const LayerPlan& layer = *args.layer;
  AttentionTried plan{.content = kept(content_scores(layer, args, dumped)),
                      .bias = kept(bias_scores(layer, args, dumped)),
                      .cap = layer.soft_cap,
                      .seen = kept(seen_keys(layer.mask, args, dumped)),
                      .sinks = layer.sinks ? sinks_of(args, dumped.heads) : std::vector<double>{}};
  if (!dumped.v.empty()) plan.v = kept(std::vector<double>(dumped.v));
  Tried out{plan};
  add_scales(layer, plan, out);
  add_caps(layer, plan, out);
  add_masks(args, dumped, plan, out);
  for (AttentionTried& one : tried_biases(args, dumped, plan)) out.push_back(std::move(one));
  add_others(args, dumped, plan, out);
  add_rotation(args, dumped, plan, out);
  return out;
}

}  // namespace posenc::inline v0_2::port
