// A phrase for each alternative of the variants of schemes.h and plan.h. No visit has a default case, so that a new
// scheme does not compile before it has a phrase.
#include "inspect/stage_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// A visitor made of lambdas, one for each alternative.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;  // Clang 14 does not deduce it

// "16 x 16"
std::string numbers_text(const std::vector<std::int64_t>& numbers, std::string_view between) {
  std::vector<std::string> parts;
  for (const std::int64_t one : numbers) parts.push_back(std::to_string(one));
  return join(parts, between);
}

// Who orders and spaces the sines so: there is no common name.
std::string_view convention_text(SinusoidConvention convention) {
  switch (convention) {
    case SinusoidConvention::paper: return "the paper's";
    case SinusoidConvention::tensor2tensor: return "Tensor2Tensor's";
    case SinusoidConvention::musicgen: return "MusicGen's";
    case SinusoidConvention::marian: return "Marian's";
    case SinusoidConvention::whisper: return "Whisper's";
    case SinusoidConvention::xlnet: return "XLNet's";
  }
  return "";
}

// "half-split (NeoX, rotate_half): channel p with p+64".
std::string pairing_words(const Rope& rope) {
  const auto channel = [](std::string_view step, std::int64_t from) {
    return from == 0 ? std::string(step) : formatted("{}+{}", step, from);
  };
  const std::int64_t first = rope.first_channel;
  const bool half = rope.pairing == Pairing::half;
  const std::string_view step = half ? "p" : "2p";
  return formatted("{}: channel {} with {}", long_pairing(rope.pairing), channel(step, first),
                   channel(step, first + (half ? rope.dim / 2 : 1)));
}

// A number where the plan has no name for it.
std::string axis_name(const AxisMap& axes, std::int32_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  return at < axes.names.size() ? printable(excerpt(axes.names[at])) : formatted("axis {}", axis);
}

// "t: pairs 0-15, h: pairs 16-39, w: pairs 40-63"; when an axis has them scattered, by number of pairs: "t: 24 pairs,
// h: 20 pairs, w: 20 pairs, interleaved". Up to kMostRuns runs are told one by one.
std::string axes_text(const Rope& rope) {
  const AxisMap& axes = rope.axes;
  constexpr std::size_t kMostRuns = 6;
  std::vector<std::string> runs;
  for (std::size_t p = 0; p < axes.of_pair.size();) {
    std::size_t end = p + 1;
    while (end < axes.of_pair.size() && axes.of_pair[end] == axes.of_pair[p]) ++end;
    runs.push_back(formatted("{}: pairs {}-{}", axis_name(axes, axes.of_pair[p]), p, end - 1));
    p = end;
  }
  std::string out;
  if (runs.size() <= kMostRuns) {
    out = join(runs, ", ");
  } else {
    std::vector<std::int64_t> pairs(axes.names.size());
    for (const std::int32_t axis : axes.of_pair) ++pairs[static_cast<std::size_t>(axis)];
    for (std::size_t a = 0; a < axes.names.size(); ++a) {
      out += formatted("{}{}: {}", a == 0 ? "" : ", ", axis_name(axes, static_cast<std::int32_t>(a)),
                       count(pairs[a], "pair"));
    }
    out += ", interleaved";
  }
  if (rope.axis_frequencies == AxisFrequencies::per_axis) out += "; each axis has frequencies of its own";
  if (rope.axis_frequencies == AxisFrequencies::strided) out += "; the axes take frequencies in turn";
  return out;
}

std::string_view is_added(InputCombine combine) {
  return combine == InputCombine::add ? "is added" : "multiplies the embedding";
}

// What follows is_added().
std::string multiplier_text(double multiplier, InputCombine combine) {
  if (multiplier == 1) return "";
  return combine == InputCombine::add ? formatted(" to {} x the embedding", number(multiplier))
                                      : formatted(" times {}", number(multiplier));
}

// Behind ALiBi's other words; nothing for the usual form.
std::string_view form_text(AlibiForm form) {
  switch (form) {
    case AlibiForm::relative: return "";
    case AlibiForm::column: return ", as slope x j";
    case AlibiForm::column_bfloat16: return ", as slope x j in bfloat16";
  }
  return "";
}

// To within 1e-12: a quotient that was rounded otherwise counts, one in float32 does not. 0 channels: not known.
bool is_one_over_sqrt(double scale, std::int64_t channels) {
  if (channels <= 0) return false;
  const double expected = 1.0 / std::sqrt(static_cast<double>(channels));
  return std::fabs(scale - expected) <= 1e-12 * expected;
}

std::string_view places_text(PlaceOf of) {
  switch (of) {
    case PlaceOf::grid: return "cells of the image";
    case PlaceOf::boxes: return "boxes that are predicted";
    case PlaceOf::points: return "points that are given";
    case PlaceOf::text: return "tokens of the text";
  }
  return "";
}

}  // namespace

std::string kind_text(LayerKind kind) {
  switch (kind) {
    case LayerKind::attention: return "attention";
    case LayerKind::cross_attention: return "cross-attention";
    case LayerKind::linear_attention: return "linear attention";
    case LayerKind::state_space: return "state space";
    case LayerKind::convolution: return "convolution";
    case LayerKind::deformable_attention: return "deformable attention";
    case LayerKind::none: return "none";
  }
  return "";
}

std::string pairing_text(Pairing pairing) { return pairing == Pairing::half ? "half" : "interleaved"; }

std::string long_pairing(Pairing pairing) {
  return pairing == Pairing::half ? "half-split (NeoX, rotate_half)" : "interleaved (GPT-J)";
}

std::string channels_text(const Rope& rope) {
  return formatted("{}-{}", rope.first_channel, rope.first_channel + rope.dim - 1);
}

// Behind a table; nothing where all tokens have a row of it.
std::string tokens_text(const std::string& tokens) {
  return tokens.empty() ? std::string() : formatted(" to {}", printable(excerpt(tokens)));
}

// What it is, of how many rows, how it meets the embedding; then which row a token takes, where that is not its own.
std::string input_text(const InputScheme& input) {
  return std::visit(
      Overloaded{
          [](const LearnedInput& in) {
            const std::string row = in.offset == 0 ? "" : formatted("; token i takes row i + {}", in.offset);
            const std::string types = in.token_types ? formatted("; and one of {} segments", *in.token_types) : "";
            const std::string_view verb = is_added(in.combine);
            const std::string tokens = tokens_text(in.tokens);
            if (in.positions == 0) return formatted("a learned table {}{}, of a size that is not known", verb, tokens);
            return formatted("a learned table of {} positions {}{}{}{}{}", in.positions, verb, tokens,
                             multiplier_text(in.embedding_multiplier, in.combine), row, types);
          },
          [](const SinusoidalInput& in) {
            const std::string row = in.offset == 0 ? "" : formatted("; token i takes position i + {}", in.offset);
            const std::string rows = in.positions ? formatted(" of {} positions", *in.positions) : "";
            const std::string axis = in.axis.empty() ? "" : formatted(" of axis {}", printable(excerpt(in.axis)));
            const std::string scale = in.learned_scale ? ", times a learned number," : "";
            return formatted("sines and cosines{}{}{} {} ({} convention){}{}", rows, axis, scale,
                             in.combine == InputCombine::add ? "are added" : "multiply the embedding",
                             convention_text(in.convention), multiplier_text(in.embedding_multiplier, in.combine), row);
          },
          [](const AxialInput& in) {
            if (in.combine == AxialCombine::add) {
              return formatted("a learned table per axis is added{}: {}", tokens_text(in.tokens),
                               numbers_text(in.shape, " x "));
            }
            const std::string added = in.tokens.empty() ? "" : ", added" + tokens_text(in.tokens);
            return formatted("learned tables, one per axis, side by side{}: {} rows of {} channels", added,
                             numbers_text(in.shape, " x "), numbers_text(in.dims, " + "));
          },
          [](const TileInput& in) {
            const std::string rows = in.positions == 0 ? "" : formatted(" x {} positions", in.positions);
            return formatted("a gated learned table is added: {} aspect ratios x {} tiles{}", in.rows, in.tiles, rows);
          },
          [](const ConvolutionInput& in) {
            const std::string what = in.layers == 1 ? std::string("a convolution")
                                                    : formatted("{} convolutions one after the other", in.layers);
            const std::string stride = in.stride == 1 ? "" : formatted(", {} positions become one", in.stride);
            return formatted("{} over {} positions, in {}, {} added{}", what, in.kernel,
                             count(in.groups, "channel group"), in.layers == 1 ? "is" : "are", stride);
          },
          [](const IntegerInput& in) {
            return formatted("the position{}{} {} in every channel{}",
                             in.offset == 0 ? "" : formatted(" + {}", in.offset),
                             in.normalised ? ", over the length," : "", is_added(in.combine),
                             multiplier_text(in.embedding_multiplier, in.combine));
          },
          [](const BinaryInput& in) {
            return formatted("the position{} {} in binary, a bit a channel{}",
                             in.offset == 0 ? "" : formatted(" + {}", in.offset), is_added(in.combine),
                             multiplier_text(in.embedding_multiplier, in.combine));
          },
          [](const AxisSinesInput& in) {
            std::string axes;
            for (const std::string& axis : in.axes) axes += (axes.empty() ? "" : ", ") + printable(excerpt(axis));
            return formatted("{}sines and cosines of {} of {} {} added, base {}{}",
                             in.learned_map ? "a learned perceptron of " : "", axes, places_text(in.of),
                             in.learned_map ? "is" : "are", exact_number(in.base),
                             in.normalised ? ", over the axis' length" : "");
          },
          [](const FourierInput& in) {
            const std::string kinds = in.kinds ? formatted(", and one of {} learned rows by its kind", *in.kinds) : "";
            return formatted("random Fourier features of {} are added{}", places_text(in.of), kinds);
          },
          [](const PerceptronInput& in) {
            return formatted("a learned perceptron of {} of {} is added", count(in.coordinates, "coordinate"),
                             places_text(in.of));
          },
      },
      input);
}

std::string added_text(const Added& added) {
  std::string to;
  switch (added.to) {
    case AddedTo::queries: to = "queries"; break;
    case AddedTo::keys: to = "keys"; break;
    case AddedTo::queries_and_keys: to = "queries and keys"; break;
    case AddedTo::keys_and_values: to = "keys and values"; break;
    case AddedTo::hidden_states: to = "hidden states"; break;
  }
  switch (added.how) {
    case AddedHow::before_projection: to += ", before their projection"; break;
    case AddedHow::projected: to += ", by a projection of its own"; break;
    case AddedHow::beside: to += ", by a projection of its own into channels beside"; break;
  }
  return formatted("to {}{}: {}", to, added.gated ? ", times numbers of the hidden states" : "",
                   input_text(added.scheme));
}

// `length`, in tokens, is for the attention factor, which in LongRoPE depends on it. The base is that before the rule.
std::string rotate_text(const Rotate& rotate, std::optional<std::int64_t> length) {
  const Rope& r = rope(rotate);
  std::string out;
  switch (rotate.role) {
    case RotateRole::main: break;
    case RotateRole::indexer:
      out = formatted("indexer ({} of {} channels): ", count(rotate.heads, "head"), r.head_dim);
      break;
    case RotateRole::before_projection: out = "hidden states, before the Q and K projections: "; break;
  }
  const bool whole = r.first_channel == 0 && r.dim == r.head_dim;
  out += whole ? formatted("all {} channels", r.dim) : formatted("channels {} of {}", channels_text(r), r.head_dim);
  out += formatted(", {}{}; base {}", pairing_words(r),
                   r.rotation_direction == RotationDirection::clockwise ? ", clockwise" : "", exact_number(r.base));
  if (!std::holds_alternative<std::monostate>(r.scaling)) out += "; " + describe(r.scaling);
  out += formatted("; attention factor {}", number(frequencies(r, length).attention_factor));
  if (!r.axes.of_pair.empty()) {
    out += "; " + axes_text(r);
  } else if (r.axes.names != std::vector<std::string>{"t"} && !r.axes.names.empty()) {
    out += "; positions along " + axis_name(r.axes, 0);
  }
  if (rotate.offset != 0) out += formatted("; coordinates + {}", rotate.offset);
  if (const auto* xpos = std::get_if<XPos>(&rotate.scheme)) {
    out += formatted("; xPos decay, scale base {}", exact_number(xpos->scale_base));
  }
  return out;
}

// The scheme and its numbers; formulas are in schemes.h.
std::string score_text(const ScoreTerm& term) {
  return std::visit(
      Overloaded{
          [](const Alibi& s) {
            return formatted("ALiBi over {}, max bias {}{}{}{}{}", count(s.heads, "head"), exact_number(s.max_bias),
                             s.geometric_slopes ? ", one geometric sequence of slopes" : "",
                             s.symmetric ? ", by |i - j|" : "", form_text(s.form),
                             s.scaled ? ", times the softmax scale" : "");
          },
          [](const T5Bias& s) {
            return formatted("T5 bias: {} buckets to distance {}, {}, {}{}{}{}", s.buckets, s.max_distance,
                             s.bidirectional ? "bidirectional" : "past only",
                             s.table_per_layer ? "a table in each layer" : "one table for all layers",
                             s.gated ? ", gated by the query's hidden state" : "",
                             s.axis > 0 ? formatted(", along coordinate {}", s.axis) : "",
                             s.scaled ? ", times the softmax scale" : "");
          },
          [](const ClippedBias& s) {
            return formatted("a learned bias for each distance, clipped to -{} .. {}", s.past, s.future);
          },
          [](const GridBias& s) {
            return formatted("a learned bias for each offset in row and column of a window of {} x {}", s.rows,
                             s.columns);
          },
          [](const Kerple& s) {
            return std::string(s.form == Kerple::Form::logarithmic ? "KERPLE, logarithmic: -r1 ln(1 + r2 |i - j|)"
                                                                   : "KERPLE, power: -r1 |i - j|^r2");
          },
          [](const Fire&) { return std::string("FIRE: a learned MLP of the distance over the position"); },
          [](const Sandwich& s) {
            return formatted("Sandwich over {}, sinusoids of {} channels", count(s.heads, "head"), s.channels);
          },
          [](const MlpBias& s) { return formatted("a learned MLP of the {}distance", s.logarithmic ? "log " : ""); },
          [](const ShawKeys& s) {
            return formatted("Shaw keys, distances clipped to -{} .. {}{}{}", s.left, s.right,
                             s.sinusoidal ? ", sinusoidal rows" : "", s.by_keys ? ", dot products with keys too" : "");
          },
          [](const TransformerXl& s) {
            std::string out = "Transformer-XL terms";
            if (!s.content_bias || !s.position_bias) {
              out += formatted(" without the {}", s.content_bias    ? "position bias"
                                                  : s.position_bias ? "content bias"
                                                                    : "two biases");
            }
            if (s.clamp_length >= 0) out += formatted(", distances clamped to {}", s.clamp_length);
            if (s.distances) out += formatted(", distances {} to {}", s.distances->low, s.distances->high);
            return out + formatted(", sinusoids by {} convention", convention_text(s.sinusoid));
          },
          [](const XlNet& s) {
            const std::string clamp = s.clamp_length < 0 ? "" : formatted(", distances clamped to {}", s.clamp_length);
            return formatted("XLNet terms and segments{}{}", clamp, s.bidirectional_data ? ", bidirectional" : "");
          },
          [](const Deberta& s) {
            std::vector<std::string> terms;
            if (s.content_to_position) terms.emplace_back("content-to-position (c2p)");
            if (s.position_to_content) terms.emplace_back("position-to-content (p2c)");
            if (s.position_to_position) terms.emplace_back("position-to-position (p2p)");
            const std::string buckets = s.buckets > 0 ? formatted("{} logarithmic buckets", s.buckets) : "no buckets";
            return formatted("DeBERTa: {}; {}, to distance {}{}", join(terms, ", "), buckets, s.max_distance,
                             s.shared_projection ? ", projections shared with the content" : "");
          },
          [](const DecomposedHw& s) {
            return formatted("decomposed: a learned row for the distance by height and by width, {} rows each", s.rows);
          },
          [](const ContextualPosition& s) {
            return formatted("CoPE: contextual positions, counted by gates, a learned row for each of {}", s.positions);
          },
          [](const ForgetGate&) { return std::string("forget gates (FoX): the sum of log f after the key"); },
          [](const DistanceLogits& s) {
            return formatted(
                "logits by distance: {} channels that are made of the query token, times a learned row "
                "for each distance from 0 to {}",
                s.channels, s.extent - 1);
          },
      },
      term);
}

std::string regions_text(const Regions& regions) {
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string(); },
          [](const SelfExtend& r) {
            return formatted("SelfExtend: distances below {} as they are, beyond it positions in groups of {}",
                             r.window, r.group);
          },
          [](const ReRope& r) {
            if (!r.step) return formatted("ReRoPE: distances beyond {} count as {}", r.window, r.window);
            return formatted("leaky ReRoPE: distances beyond {} grow by 1 in {}", r.window, exact_number(*r.step));
          },
          [](const DualChunk& r) {
            return formatted(
                "dual chunk attention: chunks of {}; the first {} queries of each have the previous chunk at its true "
                "distance; query positions at most {}",
                r.chunk, r.local, r.trained - 1);
          },
      },
      regions);
}

std::string value_text(const ValueScheme& value) {
  return std::visit(Overloaded{
                        [](std::monostate) { return std::string("no positions"); },
                        [](const ShawValues& v) {
                          return formatted("Shaw values, distances clipped to -{} .. {}{}", v.left, v.right,
                                           v.sinusoidal ? ", sinusoidal rows" : "");
                        },
                        [](const RotatedValues& v) {
                          return std::string(v.inverse_on_output ? "values are rotated like keys, outputs rotated back"
                                                                 : "values are rotated like keys");
                        },
                    },
                    value);
}

// The formulas of schemes.h with the layer's numbers; i counts from 0.
std::string query_scale_text(const QueryScale& scale) {
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string(); },
          [](const Llama4Temperature& s) {
            return formatted("queries x (1 + {} ln(1 + floor((i + 1) / {})))", exact_number(s.attn_scale),
                             exact_number(s.floor_scale));
          },
          [](const MinistralTemperature& s) {
            return formatted("queries x (1 + {} ln(1 + floor(i / {})))", exact_number(s.beta),
                             s.original_max_position_embeddings);
          },
          [](const LogNScale& s) { return formatted("queries x max(1, ln(i + 1) / ln({}))", s.seq_length); },
          [](const BeamTemperature& s) {
            return formatted("queries x (1 + (i + 1) / {})^{}", exact_number(s.length), exact_number(s.exponent));
          },
          [](const InklingTemperature& s) {
            return formatted("queries x (1 + {} ln(max(1, (i + 1) / {})))", exact_number(s.alpha),
                             exact_number(s.floor));
          },
      },
      scale);
}

// In the order of the equation (reference_attend.h).
std::string logits_text(const LayerPlan& layer) {
  std::string out = formatted("softmax scale {}", number(layer.softmax_scale));
  if (is_one_over_sqrt(layer.softmax_scale, layer.head_dim)) out += formatted(" (1/sqrt({}))", layer.head_dim);
  if (layer.channel_scale) out += ", times a learned factor per channel";
  const std::string scale = query_scale_text(layer.query_scale);
  if (!scale.empty()) out += "; " + scale;
  if (layer.soft_cap) {
    out += formatted("; softcap {} {} the bias", exact_number(layer.soft_cap->cap),
                     layer.soft_cap->order == SoftCap::Order::after_bias ? "after" : "before");
  }
  if (layer.sinks) out += "; attention sinks, a learned logit per head";
  return out;
}

// "RMS norm of q and k over each head, with weights, before RoPE"
std::string norm_text(const QkNorm& norm) {
  const std::string_view kind = norm.kind == QkNorm::Kind::rms ? "RMS" : norm.kind == QkNorm::Kind::l2 ? "L2" : "layer";
  return formatted("{} norm of {} over {}, {} weights, {} RoPE", kind, norm.of == QkNorm::Of::keys ? "k" : "q and k",
                   norm.over == QkNorm::Over::head ? "each head" : "all heads",
                   !norm.weighted          ? "without"
                   : norm.weighted_queries ? "with"
                                           : "of k alone with",
                   norm.order == QkNorm::Order::before ? "before" : "after");
}

namespace {

// "keys and values made of 2 tokens before theirs too; state space beside attention, with a state of all tokens"
std::string mixing_text(const Mixing& mixing) {
  std::string out;
  const auto add = [&](std::string text) { out += (out.empty() ? "" : "; ") + std::move(text); };
  if (!mixing.tokens_before) add("keys and values made of tokens before theirs too");
  if (mixing.tokens_before.value_or(0) > 0) {
    add(formatted("keys and values made of {} before theirs too", count(*mixing.tokens_before, "token")));
  }
  if (mixing.outputs) add("convolutions over tokens behind attention and the MLP");
  if (mixing.beside) add(formatted("{} beside attention, with a state of all tokens", kind_text(*mixing.beside)));
  return out;
}

}  // namespace

std::string cache_text(const LayerPlan& layer) {
  std::string out;
  if (layer.kv_from) out = formatted("KV cache shared with layer {}", *layer.kv_from);
  if (layer.compression) {
    out += formatted("{}compressed keys, one for each {} tokens, at multiples of that", out.empty() ? "" : "; ",
                     *layer.compression);
  }
  const std::string mixing = mixing_text(layer.mixing);
  return out.empty() || mixing.empty() ? out + mixing : out + "; " + mixing;
}

// A window as configs have it counts the token itself: `sliding_window: w` is past w - 1.
std::string mask_text(const Mask& mask) {
  std::string out;
  switch (mask.kind) {
    case MaskKind::causal: out = "causal"; break;
    case MaskKind::bidirectional: out = "bidirectional"; break;
    case MaskKind::prefix: out = "prefix"; break;
    case MaskKind::sparse: out = "sparse"; break;
  }
  if (mask.window && mask.window->future == 0) {
    out += formatted(", sliding window {} (itself and {} before it)", mask.window->past + 1, mask.window->past);
  } else if (mask.window) {
    out += formatted(", window of {} back and {} ahead", mask.window->past, mask.window->future);
  }
  if (mask.chunk) out += formatted(", in chunks of {} tokens", *mask.chunk);
  if (!mask.detail.empty()) out += formatted(" ({})", printable(excerpt(mask.detail)));
  if (mask.detail.empty() && mask.beyond_window) out += ", keys beyond it too";
  if (mask.detail.empty() && mask.by_blocks) out += ", by blocks of the sequence";
  if (mask.detail.empty() && mask.by_indexer) out += ", picked by an indexer";
  return out;
}

// The narrowest limit alone: a chunk, else a window, else the kind.
std::string short_mask(const Mask& mask) {
  if (mask.chunk) return formatted("chunk {}", *mask.chunk);
  if (mask.window && mask.window->future == 0) return formatted("window {}", mask.window->past + 1);
  if (mask.window) return formatted("window -{}+{}", mask.window->past, mask.window->future);
  switch (mask.kind) {
    case MaskKind::causal: return "causal";
    case MaskKind::bidirectional: return "bidirectional";
    case MaskKind::prefix: return "prefix";
    case MaskKind::sparse: return "sparse";
  }
  return "";
}

std::string short_scale(const LayerPlan& layer) {
  return is_one_over_sqrt(layer.softmax_scale, layer.head_dim) ? "1/sqrt(d)" : number(layer.softmax_scale);
}

std::string short_norm(const LayerPlan& layer) {
  if (!layer.qk_norm) return "-";
  switch (layer.qk_norm->kind) {
    case QkNorm::Kind::rms: return "rms";
    case QkNorm::Kind::l2: return "l2";
    case QkNorm::Kind::layer: return "layer";
  }
  return "";
}

// The rule and the one number that matters most; describe() has all.
std::string short_rule(const Scaling& scaling) {
  const auto with = [](std::string_view rule, double factor) { return formatted("{} x{}", rule, number(factor, 4)); };
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string("-"); },
          [&](const LinearScaling& s) { return with("linear", s.factor); },
          [](const NtkScaling& s) { return formatted("ntk a={}", number(s.alpha, 4)); },
          [&](const DynamicScaling& s) { return with("dynamic", s.factor); },
          [](const QwenNtkScaling&) { return std::string("qwen_ntk"); },
          [&](const YarnScaling& s) { return with("yarn", s.factor); },
          [&](const LongRopeScaling& s) { return with("longrope", s.factor); },
          [&](const Llama3Scaling& s) { return with("llama3", s.factor); },
          [](const ProportionalScaling& s) { return formatted("proportional {}", number(s.partial_rotary_factor, 4)); },
          [](const FactorListScaling&) { return std::string("factors"); },
      },
      scaling);
}

std::string short_input(const InputScheme& input) {
  return std::visit(Overloaded{
                        [](const LearnedInput&) { return "learned"; },
                        [](const SinusoidalInput&) { return "sines"; },
                        [](const AxialInput&) { return "axial"; },
                        [](const TileInput&) { return "tiles"; },
                        [](const ConvolutionInput&) { return "convolution"; },
                        [](const IntegerInput&) { return "integers"; },
                        [](const BinaryInput&) { return "binary"; },
                        [](const AxisSinesInput&) { return "sines by axis"; },
                        [](const FourierInput&) { return "fourier"; },
                        [](const PerceptronInput&) { return "perceptron"; },
                    },
                    input);
}

std::string short_score(const ScoreTerm& term) {
  return std::visit(Overloaded{
                        [](const Alibi&) { return "alibi"; },
                        [](const T5Bias&) { return "t5"; },
                        [](const ClippedBias&) { return "clipped bias"; },
                        [](const GridBias&) { return "grid bias"; },
                        [](const Kerple&) { return "kerple"; },
                        [](const Fire&) { return "fire"; },
                        [](const Sandwich&) { return "sandwich"; },
                        [](const MlpBias&) { return "mlp bias"; },
                        [](const ShawKeys&) { return "shaw"; },
                        [](const TransformerXl&) { return "transformer-xl"; },
                        [](const XlNet&) { return "xlnet"; },
                        [](const Deberta&) { return "deberta"; },
                        [](const DecomposedHw&) { return "decomposed h, w"; },
                        [](const ContextualPosition&) { return "cope"; },
                        [](const ForgetGate&) { return "forget gate"; },
                        [](const DistanceLogits&) { return "distance logits"; },
                    },
                    term);
}

}  // namespace posenc::tool
