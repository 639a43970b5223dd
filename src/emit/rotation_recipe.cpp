// The rotation of a layer as a recipe: inv_freq by the scaling rule's formula, the factor on cos and sin, the pairs and
// their axes. The formulas are those of src/math/rope, which says what implementations in the wild do otherwise.
#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "emit/recipe.h"
#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::code {
namespace {

Expr number_of(const char* constant_name) { return constant(constant_name, Type::real); }
Expr count_of(const char* constant_name) { return constant(constant_name, Type::whole); }

// What the visits of a scaling rule add to.
struct Frequency {
  Recipe& recipe;
  Rotation& rotation;
  const Rope& rope;
  const Sources& sources;
  std::optional<std::int64_t> length;  // of the plan
  Expr rung;                           // of a pair: the exponent is -2 rung / span
  Expr span;

  Function& function() const { return rotation.inv_freq; }
  std::string from(std::string_view field) const { return sources("rotate/0/scaling/" + std::string(field)); }
  void add(std::string name, double value, std::string note) const {
    recipe.constants.push_back({std::move(name), value, std::move(note)});
  }
  void add_count(std::string name, std::int64_t value, std::string note) const {
    recipe.constants.push_back({std::move(name), value, std::move(note)});
  }
  void let(std::string name, Expr is) const { function().lets.push_back({std::move(name), std::move(is)}); }
  // base^(-2 rung / span).
  Expr unscaled(Expr base) const { return power(std::move(base), real(-2.0) * rung / span); }
  Expr unscaled() const { return unscaled(number_of("base")); }
  // A number where the plan has a length, else an argument.
  Expr sequence_length() const {
    if (!length) {
      rotation.of_length = true;
      return name("length", Type::whole, true);
    }
    return count_of("length");
  }
};

Expr let_name(const char* text) { return name(text, Type::real); }

void scale(std::monostate, Frequency& f) {
  f.function().comment = "RoFormer, arXiv 2104.09864, (15)";
  f.function().result = f.unscaled();
}

void scale(const LinearScaling& rule, Frequency& f) {
  f.add("factor", rule.factor, f.from("factor"));
  f.function().comment = "Position interpolation, arXiv 2306.15595";
  f.function().result = f.unscaled() / number_of("factor");
}

// base * stretch^(dim / (dim - 2)).
void let_base(Frequency& f, Expr stretch) {
  const Expr dim = count_of("rotary_dim");
  const Expr exponent = dim / (dim - whole(2));
  f.function().lets.push_back({"stretched_base", number_of("base") * power(std::move(stretch), exponent)});
  f.function().result = f.unscaled(name("stretched_base", Type::real, true));
}

void scale(const NtkScaling& rule, Frequency& f) {
  f.add("alpha", rule.alpha, f.from("alpha"));
  f.function().comment = "Static NTK: the base is stretched. arXiv 2309.00071";
  let_base(f, number_of("alpha"));
}

void scale(const DynamicScaling& rule, Frequency& f) {
  f.add("factor", rule.factor, f.from("factor"));
  f.add_count("trained_length", rule.max_position_embeddings, f.from("max_position_embeddings"));
  f.function().comment =
      "Dynamic NTK: beyond the trained length, the base is stretched as the sequence grows. arXiv 2309.00071";
  const Expr trained = count_of("trained_length");
  f.function().lets.push_back({"beyond", larger(f.sequence_length(), trained) - trained});
  let_base(f, real(1.0) + number_of("factor") * name("beyond", Type::whole, true) / trained);
}

// ceil(log2(ratio)) in double could miss a whole number by an ulp, and then alpha doubles.
void scale(const QwenNtkScaling& rule, Frequency& f) {
  if (!f.length) refuse("Qwen's NTK rule", "its stretch doubles with the length: give a length (--length N)");
  const std::int64_t trained = rule.seq_length;
  double alpha = 1.0;
  if (*f.length > trained) {
    const auto ratio = static_cast<std::uint64_t>((*f.length - 1) / trained + 1);
    alpha = std::ldexp(1.0, static_cast<int>(std::bit_width(ratio - 1)) + 1) - 1;
  }
  f.add("alpha", alpha,
        formatted("max(2^ceil(log2(length / {}) + 1) - 1, 1) for a length of {} tokens", trained, *f.length));
  f.function().comment = "Qwen's dynamic NTK, for one length: the base is stretched. arXiv 2309.16609";
  let_base(f, number_of("alpha"));
}

// The members that Hugging Face reads as `key or default`: 0 is the default too.
double given_or(const std::optional<double>& value, double otherwise) {
  return value.value_or(0.0) != 0.0 ? *value : otherwise;
}

void scale(const YarnScaling& rule, Frequency& f) {
  const auto from_or = [&](const char* field, bool is_given, const char* otherwise) {
    return is_given ? f.from(field) : std::string(otherwise);
  };
  f.add("factor", rule.factor, f.from("factor"));
  f.add_count("original_length", rule.original_max_position_embeddings, f.from("original_max_position_embeddings"));
  f.add("beta_fast", given_or(rule.beta_fast, 32.0),
        from_or("beta_fast", rule.beta_fast.value_or(0.0) != 0.0, "default of YaRN"));
  f.add("beta_slow", given_or(rule.beta_slow, 1.0),
        from_or("beta_slow", rule.beta_slow.value_or(0.0) != 0.0, "default of YaRN"));
  const Expr dim = count_of("rotary_dim");
  const Expr turns = name("turns", Type::real, true);
  f.recipe.helpers.push_back(
      {.name = "pair_of_turns",
       .comment = "The pair, as a real number, that turns so many times within ORIGINAL_LENGTH tokens.",
       .parameters = {{"turns", Type::real}},
       .result = dim * logarithm(count_of("original_length") / (turns * real(2.0) * pi())) /
                 (real(2.0) * logarithm(number_of("base"))),
       .is_wide = true});
  const auto pair_of = [&](const char* beta) { return call("pair_of_turns", Type::real, {number_of(beta)}); };
  Expr low = pair_of("beta_fast");
  Expr high = pair_of("beta_slow");
  if (rule.truncate) {
    low = floored(std::move(low));
    high = -floored(-std::move(high));  // the ceiling
  }
  const Expr first = name("low", Type::real, true);
  const Expr last = name("high", Type::real, true);
  f.let("low", larger(std::move(low), real(0.0)));
  f.let("high", smaller(std::move(high), dim - whole(1)));
  // 0.001 pairs: Hugging Face's guard against 0 / 0.
  f.let("width", choose(first == last, real(0.001), last - first));
  f.let("ramp",
        smaller(larger((name("p", Type::whole) - first) / name("width", Type::real, true), real(0.0)), real(1.0)));
  f.let("frequency", f.unscaled());
  f.function().comment =
      std::string("YaRN: fast pairs stay, slow pairs are interpolated, with a ramp between. arXiv 2309.00071") +
      (rule.truncate ? "" : "; its ends are not rounded to whole pairs (truncate: false)");
  f.function().result = let_name("frequency") * (real(1.0) - let_name("ramp")) +
                        let_name("frequency") / number_of("factor") * let_name("ramp");
}

void scale(const LongRopeScaling& rule, Frequency& f) {
  f.add_count("original_length", rule.original_max_position_embeddings, f.from("original_max_position_embeddings"));
  f.recipe.constants.push_back({"short_factor", rule.short_factor, f.from("short_factor")});
  f.recipe.constants.push_back({"long_factor", rule.long_factor, f.from("long_factor")});
  const Expr is_long = count_of("original_length") < f.sequence_length();
  const Expr p = name("p", Type::whole);
  f.function().comment =
      "LongRoPE: a divisor for each pair, of one list up to the original length and of another beyond it. "
      "arXiv 2402.13753";
  f.function().result = f.unscaled() / choose(is_long, list_element("long_factor", p, Type::real),
                                              list_element("short_factor", p, Type::real));
  if (rule.short_mscale && rule.long_mscale) {
    f.add("short_mscale", *rule.short_mscale, f.from("short_mscale"));
    f.add("long_mscale", *rule.long_mscale, f.from("long_mscale"));
    f.rotation.factor = choose(is_long, number_of("long_mscale"), number_of("short_mscale"));
  }
}

void scale(const Llama3Scaling& rule, Frequency& f) {
  f.add("factor", rule.factor, f.from("factor"));
  f.add("low_freq_factor", rule.low_freq_factor, f.from("low_freq_factor"));
  f.add("high_freq_factor", rule.high_freq_factor, f.from("high_freq_factor"));
  f.add_count("original_length", rule.original_max_position_embeddings, f.from("original_max_position_embeddings"));
  const Expr original = count_of("original_length");
  const Expr low = number_of("low_freq_factor");
  const Expr high = number_of("high_freq_factor");
  const Expr frequency = let_name("frequency");
  const Expr wavelength = let_name("wavelength");
  f.function().comment =
      "Llama 3.1's rule: pairs with long wavelengths are interpolated, those with short ones stay, a blend between. "
      "arXiv 2407.21783";
  f.let("frequency", f.unscaled());
  f.let("wavelength", real(2.0) * pi() / frequency);
  Expr shorter = frequency;
  // Equal bounds leave nothing between, and the blend would divide by 0 (Llama 4 Scout).
  if (rule.high_freq_factor > rule.low_freq_factor) {
    f.let("t", (original / wavelength - low) / (high - low));
    const Expr t = let_name("t");
    f.let("blend", (real(1.0) - t) * frequency / number_of("factor") + t * frequency);
    f.let("shorter", choose(wavelength < original / high, frequency, let_name("blend")));
    shorter = let_name("shorter");
  }
  f.function().result = choose(original / low < wavelength, frequency / number_of("factor"), std::move(shorter));
}

void scale(const ProportionalScaling& rule, Frequency& f) {
  f.add("factor", rule.factor, f.from("factor"));
  const double rotating = std::floor(rule.partial_rotary_factor * static_cast<double>(f.rope.dim) / 2);
  f.add_count("rotating_pairs", static_cast<std::int64_t>(rotating),
              formatted("partial_rotary_factor {} of {} pairs: {}", rule.partial_rotary_factor, f.rope.pairs(),
                        f.from("partial_rotary_factor")));
  f.function().comment =
      "p-RoPE: the exponents are over the whole head, and the slow pairs do not rotate. "
      "arXiv 2410.06205";
  f.function().result =
      choose(name("p", Type::whole) < count_of("rotating_pairs"), f.unscaled() / number_of("factor"), real(0.0));
}

void scale(const FactorListScaling& rule, Frequency& f) {
  f.recipe.constants.push_back({"factors", rule.factors, f.from("factors")});
  f.function().comment = "A divisor for each pair, from the file";
  f.function().result = f.unscaled() / list_element("factors", name("p", Type::whole), Type::real);
}

// The step of each pair on its ladder: base^(-2 step / span). default_inv_freq.h has the derivation.
std::vector<std::int64_t> steps_of(const Rope& rope) {
  const auto axes = static_cast<std::int64_t>(rope.axes.names.size());
  std::vector<std::int64_t> placed(rope.axes.names.size());
  std::vector<std::int64_t> steps;
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const std::int64_t axis = rope.axes.of_pair.empty() ? 0 : rope.axes.of_pair[static_cast<std::size_t>(p)];
    const std::int64_t place = placed[static_cast<std::size_t>(axis)]++;
    switch (rope.axis_frequencies) {
      case AxisFrequencies::shared: steps.push_back(p); break;
      case AxisFrequencies::per_axis: steps.push_back(place); break;
      case AxisFrequencies::strided: steps.push_back(place * axes + axis); break;
    }
  }
  return steps;
}

// A formula where one is short, else a list.
void set_rungs(Frequency& f) {
  const Rope& rope = f.rope;
  const Expr p = name("p", Type::whole);
  f.span = count_of("rotary_dim");
  f.rung = p;
  const auto axes = static_cast<std::int64_t>(rope.axes.names.size());
  if (rope.axis_frequencies == AxisFrequencies::shared || axes == 1) return;
  if (rope.axis_frequencies == AxisFrequencies::per_axis) {
    // Instead of rotary_dim, which no rule that such axes may have reads.
    for (Constant& one : f.recipe.constants) {
      if (one.name != "rotary_dim") continue;
      one = {"axis_dim", rope.dim / axes,
             formatted("{} channels that rotate / {} axes, each with frequencies of its own", rope.dim, axes)};
    }
    f.span = count_of("axis_dim");
  }
  const std::vector<std::int64_t> steps = steps_of(rope);
  const auto is = [&](auto step) {
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (steps[at] != step(static_cast<std::int64_t>(at))) return false;
    }
    return true;
  };
  const std::int64_t block = rope.pairs() / axes;
  if (is([&](std::int64_t at) { return at % block; })) {
    f.rung = remainder(p, floor_divide(f.span, whole(2)));
    return;
  }
  // As real numbers: torch divides whole ones in float32.
  f.recipe.constants.push_back({"step", std::vector<double>(steps.begin(), steps.end()),
                                "of each pair: the exponent of its base is -2 step / dim"});
  f.rung = list_element("step", p, Type::real);
}

// What multiplies cos and sin, where the rule has not said it.
void set_factor(Frequency& f, double factor) {
  if (f.rotation.factor || factor == 1.0) return;
  std::string note = f.from("attention_factor");
  if (const auto* yarn = std::get_if<YarnScaling>(&f.rope.scaling); yarn != nullptr && !yarn->attention_factor) {
    const bool two = yarn->mscale.value_or(0.0) != 0.0 && yarn->mscale_all_dim.value_or(0.0) != 0.0;
    note = two ? formatted("(0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1), {} and {}",
                           *yarn->mscale, *yarn->mscale_all_dim)
               : "0.1 ln(factor) + 1";
  }
  if (const auto* lists = std::get_if<LongRopeScaling>(&f.rope.scaling); lists != nullptr && !lists->attention_factor) {
    note = formatted("sqrt(1 + ln({}) / ln(original_length))", lists->factor);
  }
  f.add("attention_factor", factor, note.empty() ? "multiplies cos and sin" : note + ": multiplies cos and sin");
  f.rotation.factor = number_of("attention_factor");
}

std::string words(Pairing pairing) {
  switch (pairing) {
    case Pairing::half: return "half-split (NeoX, rotate_half)";
    case Pairing::interleaved: return "interleaved (GPT-J)";
  }
  return {};
}

void add_rope(Recipe& recipe, const Plan& plan, const Rotate& rotate, const Rope& rope, const Sources& sources) {
  if (auto problem = check(rope, plan.length)) throw Error("emit", *problem);
  Rotation& rotation = recipe.rotation.emplace();
  rotation.pairing = rope.pairing;
  rotation.first_channel = rope.first_channel;
  rotation.dim = rope.dim;
  rotation.offset = rotate.offset;
  rotation.axes = rope.axes.names;
  rotation.axis_of_pair = rope.axes.of_pair;
  rotation.inv_freq = {.name = "inv_freq", .parameters = {{"p", Type::whole, From::pair}}, .is_wide = true};

  recipe.constants.push_back({"rotary_dim", rope.dim, "channels of a head that rotate: " + sources("rotate/0/dim")});
  recipe.constants.push_back({"pairs", rope.pairs(), "of channels: rotary_dim / 2"});
  if (rope.first_channel != 0) {
    recipe.constants.push_back(
        {"first_channel", rope.first_channel, "that rotates: " + sources("rotate/0/first_channel")});
  }
  if (rotate.offset != 0) recipe.constants.push_back({"offset", rotate.offset, "added to every position"});
  recipe.constants.push_back({"base", rope.base, sources("rotate/0/base")});
  Frequency f{recipe, rotation, rope, sources, plan.length, {}, {}};
  set_rungs(f);
  std::visit([&](const auto& rule) { scale(rule, f); }, rope.scaling);
  const Frequencies values = frequencies(rope, plan.length);
  set_factor(f, values.attention_factor);
  if (rope.rotation_direction == RotationDirection::clockwise) {
    rotation.inv_freq.result = -rotation.inv_freq.result;
    rotation.inv_freq.comment += "; negative: clockwise, as nanochat has it";
  }
  if (rotation.of_length) {
    rotation.inv_freq.parameters.push_back({"length", Type::whole, From::length});
  } else {
    rotation.values = values.inv_freq;
    rotation.factor_value = values.attention_factor;
  }
  if (plan.length &&
      (std::holds_alternative<DynamicScaling>(rope.scaling) || std::holds_alternative<LongRopeScaling>(rope.scaling))) {
    recipe.constants.push_back({"length", *plan.length, "of the sequence, in tokens, as it was asked for"});
  }

  if (rope.axes.names.size() > 1) {
    recipe.axes = static_cast<std::int64_t>(rope.axes.names.size());
    recipe.constants.push_back({"axis_of_pair",
                                std::vector<std::int64_t>(rope.axes.of_pair.begin(), rope.axes.of_pair.end()),
                                "which coordinate of a token rotates each pair"});
  }
  const bool is_partial = rope.dim != rope.head_dim;
  std::string text = formatted("RoPE, {}, {} of {} channels of a head", words(rope.pairing), rope.dim, rope.head_dim);
  if (is_partial) text += formatted(" from channel {} on", rope.first_channel);
  if (rope.axes.names.size() > 1) {
    text += "; positions of axes ";
    std::vector<std::string> names;
    for (const std::string& axis : rope.axes.names) names.push_back(harmless(axis));
    text += joined(names, ", ");
  }
  text += "; scaling rule: " + describe(rope.scaling);
  if (const std::string source = sources("rotate/0/pairing"); !source.empty()) text += "; pairing from " + source;
  recipe.facts.emplace_back("rotation", text);
}

}  // namespace

void add_rotation(Recipe& recipe, const Plan& plan, const LayerPlan& layer, const Sources& sources) {
  const Rotate* main = nullptr;
  for (const Rotate& rotate : layer.rotate) {
    switch (rotate.role) {
      case RotateRole::main:
        if (main != nullptr) refuse("two rotations of queries and keys", "emit writes one");
        if (rotate.heads != 0 && rotate.heads != layer.heads) {
          refuse("a rotation of some heads", formatted("{} of {} rotate", rotate.heads, layer.heads));
        }
        main = &rotate;
        break;
      case RotateRole::indexer: recipe.beside.push_back("the rotation of the indexer that picks keys"); break;
      case RotateRole::before_projection:
        refuse("a rotation before the projections", "it is of hidden states, which attention does not see");
    }
  }
  if (main == nullptr) {
    recipe.facts.emplace_back("rotation", "none");
    return;
  }
  if (main != &layer.rotate.front()) refuse("this order of rotations", "the first is not of queries and keys");
  if (std::holds_alternative<XPos>(main->scheme)) {
    refuse("xPos", "its decay needs an origin near the keys of each call, which emit does not choose");
  }
  add_rope(recipe, plan, *main, std::get<Rope>(main->scheme), sources);
}

}  // namespace posenc::code
