// The rotation of a GGUF file as llama.cpp applies it: pairing, sections (M-RoPE), width, base and scaling rule, factor
// tensors included. One for full layers, one for those that slide.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "math/elementary.h"
#include "plan/gguf/read_gguf.h"

namespace posenc::plan {
namespace {

constexpr double kBase = 10000;  // of a file without rope.freq_base, in llama.cpp
constexpr std::size_t kSections = 4;

class RotationReader {
 public:
  RotationReader(GgufScope& scope, const GgufLayers& facts, const GgufFactors& factors, bool slides)
      : scope_(scope), row_(scope.architecture()), facts_(facts), factors_(factors), slides_(slides) {}

  GgufRotationDraft read() {
    const std::optional<std::vector<std::int64_t>> sections = read_sections();
    Rope rope{.pairing = read_pairing(sections.has_value()),
              .head_dim = head().keys.value,
              .dim = read_dim(),
              .base = read_base(),
              .axes = {}};
    if (row_.latent || row_.rotary_at_end) rope.first_channel = rope.head_dim - rope.dim;
    note("first_channel", row_.latent || row_.rotary_at_end ? "default: at the end of the head" : gguf_default(row_));
    if (scope_.failed() || !check_width(rope)) return {};
    if (sections) rope.axes = read_axes(*sections, rope.pairs());
    rope.scaling = read_scaling(rope);
    if (scope_.failed()) return {};
    if (const auto problem = check(rope)) {
      blame(*problem);
      return {};
    }
    return {std::move(rope), std::move(sources_)};
  }

 private:
  const GgufHead& head() const { return slides_ ? facts_.sliding : facts_.full; }
  void note(std::string field, std::string from) { sources_.push_back({std::move(field), std::move(from)}); }

  // ---- pairing and axes ----

  // The files' sections: pairs for time, height, width and a fourth axis.
  std::optional<std::vector<std::int64_t>> read_sections() {
    constexpr std::string_view kKey = "rope.dimension_sections";
    const GgufRotation rotation = row_.rotation;
    if (rotation == GgufRotation::norm || rotation == GgufRotation::neox) return {};
    const Setting<std::vector<std::int64_t>> given = scope_.list(kKey, {0, kMaxHeadDim});
    const bool required = rotation == GgufRotation::mrope || rotation == GgufRotation::imrope;
    if (!given.value) {
      if (required) scope_.fail_missing(kKey);
      return {};
    }
    if (given.value->size() != kSections && given.value->size() != kSections - 1) {
      scope_.fail(kKey, ErrorKind::bad_sections, "sections of 3 or 4 axes");
      return {};
    }
    std::vector<std::int64_t> sections = *given.value;
    sections.resize(kSections, 0);
    if (!required && (sections[0] == 0 || sections[1] == 0)) return {};
    note("axes", given.from);
    return sections;
  }

  Pairing read_pairing(bool sections) {
    note("pairing", gguf_default(row_));
    const bool interleaved =
        row_.rotation == GgufRotation::norm || (row_.rotation == GgufRotation::norm_or_mrope && !sections);
    return interleaved ? Pairing::interleaved : Pairing::half;
  }

  // Chunked sections are laid over the pairs again and again, as ggml does. Of interleaved ones, pairs that no section
  // claims take time, as the models were trained.
  AxisMap read_axes(const std::vector<std::int64_t>& sections, std::int64_t pairs) {
    const std::int64_t sum = sections[0] + sections[1] + sections[2] + sections[3];
    if (sum == 0 || sum > pairs) {
      scope_.fail("rope.dimension_sections", ErrorKind::bad_sections,
                  formatted("sections of 1 to {} pairs in all", pairs),
                  formatted("{} + {} + {} + {} = {}", sections[0], sections[1], sections[2], sections[3], sum));
      return {};
    }
    if (pairs * std::ssize(facts_.layers) > kMaxListEntries) {
      scope_.fail("rope.dimension_sections", ErrorKind::limit,
                  formatted("at most {} pairs over all layers", kMaxListEntries));
      return {};
    }
    AxisMap axes{.names = {"t", "h", "w"}};
    // Hunyuan's four axes: order in the text, width, height, number of the picture.
    if (row_.name == "hunyuan_vl") axes.names = {"p", "w", "h", "t"};
    if (row_.name != "hunyuan_vl" && sections[3] > 0) axes.names.emplace_back("e");
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      axes.of_pair.push_back(row_.rotation == GgufRotation::imrope ? interleaved(sections, pair)
                                                                   : chunked(sections, pair % sum));
    }
    return axes;
  }
  static std::int32_t interleaved(const std::vector<std::int64_t>& sections, std::int64_t pair) {
    const auto axis = static_cast<std::int32_t>(pair % 3);
    return pair < 3 * sections[static_cast<std::size_t>(axis)] ? axis : 0;
  }
  static std::int32_t chunked(const std::vector<std::int64_t>& sections, std::int64_t place) {
    std::int32_t axis = 0;
    while (place >= sections[static_cast<std::size_t>(axis)]) place -= sections[static_cast<std::size_t>(axis++)];
    return axis;
  }

  // ---- width and base ----

  std::int64_t read_dim() {
    const Setting<std::int64_t> full = scope_.integer("rope.dimension_count", {1, kMaxHeadDim});
    const Setting<std::int64_t> swa =
        slides_ ? scope_.integer("rope.dimension_count_swa", {1, kMaxHeadDim}) : Setting<std::int64_t>{};
    if (swa.value) {
      note("dim", swa.from);
      return *swa.value;
    }
    if (!full.value && (row_.latent || row_.rotary_at_end)) scope_.fail_missing("rope.dimension_count");
    note("dim", full.value ? full.from : "default: the whole head");
    const std::int64_t dim = full.value.value_or(head().keys.value);
    return row_.full_rotates_half && !slides_ ? dim / 2 : dim;
  }

  bool check_width(const Rope& rope) {
    if (rope.dim % 2 == 0 && rope.dim <= rope.head_dim && rope.dim > 0) return true;
    const bool swa = slides_ && scope_.peek("rope.dimension_count_swa") != nullptr;
    const bool given = swa || scope_.peek("rope.dimension_count") != nullptr;
    scope_.fail(swa     ? "rope.dimension_count_swa"
                : given ? "rope.dimension_count"
                        : "attention.key_length",
                ErrorKind::out_of_range, "an even number of channels, at most the head's",
                formatted("{} of {} channels would rotate", rope.dim, rope.head_dim));
    return false;
  }

  double read_base() {
    if (slides_) {
      const Setting<double> own = scope_.number("rope.freq_base_swa");
      if (own.value) {
        note("base", own.from);
        return *own.value;
      }
      if (row_.own_sliding_base) {
        note("base", "default: 10000, no rope.freq_base_swa");
        return kBase;
      }
    }
    const Sourced<double> base =
        given_or(scope_.number("rope.freq_base"), {kBase, "default: 10000, no rope.freq_base"});
    note("base", base.from);
    return base.value;
  }

  // ---- the rule ----

  struct ScalingKeys {
    Sourced<std::string> type;  // none, linear, yarn, longrope
    Sourced<double> factor;
    Sourced<std::int64_t> original;
    Setting<double> attention_factor;
  };

  ScalingKeys read_keys() {
    ScalingKeys keys;
    keys.type = given_or(scope_.text("rope.scaling.type"), {"linear", "default: linear, no rope.scaling.type"});
    constexpr std::array<std::string_view, 4> kTypes = {"none", "linear", "yarn", "longrope"};
    if (std::ranges::find(kTypes, keys.type.value) == kTypes.end()) {
      scope_.fail("rope.scaling.type", ErrorKind::unknown_rope_type, "none, linear, yarn or longrope");
    }
    const bool legacy = scope_.peek("rope.scaling.factor") == nullptr;
    keys.factor = given_or(scope_.positive(legacy ? "rope.scale_linear" : "rope.scaling.factor"),
                           {1.0, "default: 1, no rope.scaling.factor"});
    keys.original =
        given_or(scope_.integer("rope.scaling.original_context_length", {1, kMaxPosition}), facts_.trained_length);
    keys.attention_factor = scope_.not_negative("rope.scaling.attn_factor");
    return keys;
  }

  Scaling read_scaling(const Rope& rope) {
    const ScalingKeys keys = read_keys();
    const bool unscaled = slides_ && row_.sliding_unscaled;
    if (scope_.failed()) return {};
    if (unscaled) {
      note("scaling/rule", gguf_default(row_));
      return {};
    }
    if (!factors_.unread.empty()) warn_unread();
    if (row_.factors && scope_.header().tensor_count == 0) {
      scope_.undecided("no-tensors",
                       "The file has no tensors, which alone say whether frequencies are divided (rope_freqs.weight).",
                       {});
    }
    if (factors_.longs || factors_.shorts) return read_longrope(keys, rope);
    const Setting<double> alpha = scope_.number("rope.scaling.alpha");
    if (row_.name == "hunyuan_vl" || row_.name == "hunyuan-dense") {
      if (alpha.value && *alpha.value > 0) {
        note("scaling/rule", alpha.from);
        note("scaling/alpha", alpha.from);
        return NtkScaling{.alpha = *alpha.value};
      }
    }
    if (factors_.freqs) return read_factor_list(keys, rope);
    if (keys.type.value == "yarn") return read_yarn(keys);
    if (keys.type.value == "longrope") return missing_lists();
    note("scaling/rule", keys.type.from);
    if (keys.attention_factor.value.value_or(1.0) != 1) {
      scope_.undecided("unread-fact",
                       formatted("{} is {}: no {} rule here has an attention factor.", keys.attention_factor.from,
                                 *keys.attention_factor.value, keys.type.value),
                       {keys.attention_factor.from});
    }
    if (keys.type.value == "none" || keys.factor.value == 1) return {};
    note("scaling/factor", keys.factor.from);
    return LinearScaling{.factor = keys.factor.value};
  }

  // llama.cpp divides the logarithm's multiplier by what its converter multiplied it with.
  std::optional<double> read_multiplier() {
    if (row_.log_multiplier == 0) return {};
    const Setting<double> stored = scope_.number("rope.scaling.yarn_log_multiplier");
    if (!stored.value || *stored.value == 0) return {};
    note("scaling/mscale_all_dim", stored.from);
    // Both are floats: 0.1F / 0.1F is 1.
    return double{static_cast<float>(*stored.value) / static_cast<float>(row_.log_multiplier)};
  }

  Scaling read_yarn(const ScalingKeys& keys) {
    YarnScaling rule{.factor = keys.factor.value, .original_max_position_embeddings = keys.original.value};
    note("scaling/rule", keys.type.from);
    note("scaling/factor", keys.factor.from);
    note("scaling/original_max_position_embeddings", keys.original.from);
    if (row_.reads_betas) {
      const Setting<double> fast = scope_.number("rope.scaling.yarn_beta_fast");
      const Setting<double> slow = scope_.number("rope.scaling.yarn_beta_slow");
      rule.beta_fast = fast.value;
      rule.beta_slow = slow.value;
      if (fast.value) note("scaling/beta_fast", fast.from);
      if (slow.value) note("scaling/beta_slow", slow.from);
      if (row_.name == "grok") read_grok(rule);
    }
    if (const std::optional<double> multiplier = read_multiplier()) {
      rule.mscale_all_dim = multiplier;
      rule.mscale = row_.name == "deepseek2" ? *multiplier : 1.0;
    }
    if (keys.attention_factor.value.value_or(1.0) != 1) {
      // attn_factor multiplies the rule's own.
      const double own =
          rule.mscale ? magnitude(keys.factor.value, *rule.mscale) / magnitude(keys.factor.value, *rule.mscale_all_dim)
                      : magnitude(keys.factor.value, 1);
      rule.attention_factor = own * *keys.attention_factor.value;
      note("scaling/attention_factor", keys.attention_factor.from);
    }
    return rule;
  }

  // Grok's own beta, and two numbers of ggml's rotation that YaRN fixes at 1.
  void read_grok(YarnScaling& rule) {
    if (!rule.beta_fast) rule.beta_fast = 8;
    for (const std::string_view key : {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"}) {
      const Setting<double> given = scope_.number(key);
      if (!given.value || *given.value == 1) continue;
      scope_.undecided("unread-fact", formatted("{} is {}: no rule here has it.", given.from, *given.value),
                       {given.from});
    }
  }

  // YaRN's g(factor, mscale), arXiv 2309.00071 and DeepSeek's code.
  static double magnitude(double factor, double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * math::logarithm(factor) + 1;
  }

  Scaling read_longrope(const ScalingKeys& keys, const Rope& rope) {
    if (!factors_.longs || !factors_.shorts) {
      fail_tensor(factors_.longs ? kShortFactors : kLongFactors, ErrorKind::missing_key, "this tensor beside its other",
                  "a file without it");
      return {};
    }
    if (!check_divisors(kShortFactors, *factors_.shorts, rope) ||
        !check_divisors(kLongFactors, *factors_.longs, rope)) {
      return {};
    }
    note("scaling/rule", std::string(kLongFactors));
    note("scaling/short_factor", std::string(kShortFactors));
    note("scaling/long_factor", std::string(kLongFactors));
    note("scaling/original_max_position_embeddings", keys.original.from);
    note("scaling/factor", "default: context_length / original length");
    note("scaling/attention_factor",
         keys.attention_factor.value ? keys.attention_factor.from : "default: 1, no attn_factor");
    const double stretch = static_cast<double>(facts_.trained_length.value) / static_cast<double>(keys.original.value);
    return LongRopeScaling{.short_factor = *factors_.shorts,
                           .long_factor = *factors_.longs,
                           .original_max_position_embeddings = keys.original.value,
                           .factor = std::max(stretch, 1.0),
                           .attention_factor = keys.attention_factor.value.value_or(1.0)};
  }

  Scaling missing_lists() {
    note("scaling/rule", "default: none, the lists are missing");
    if (scope_.header().tensor_count != 0 && factors_.unread.empty()) {
      fail_tensor(kLongFactors, ErrorKind::missing_key, "this tensor, as rope.scaling.type is longrope",
                  "a file without it");
    } else if (factors_.unread.empty()) {
      scope_.undecided("no-tensors", "rope.scaling.type is longrope, and the file has no tensors with its factors.",
                       {scope_.key("rope.scaling.type")});
    }
    return {};
  }

  // Both divide: ggml divides a pair's angle by its factor, then scales it.
  Scaling read_factor_list(const ScalingKeys& keys, const Rope& rope) {
    std::vector<double> factors = *factors_.freqs;
    // Step 3.5's full layers rotate half of what the list is for, and use its first half.
    if (row_.full_rotates_half && std::ssize(factors) > rope.pairs()) {
      factors.resize(static_cast<std::size_t>(rope.pairs()));
    }
    if (!check_divisors(kRopeFreqs, factors, rope)) return {};
    note("scaling/rule", std::string(kRopeFreqs));
    const bool divides_too = keys.type.value != "yarn" && keys.type.value != "none" && keys.factor.value != 1;
    note("scaling/factors",
         divides_too ? formatted("{} times {}", kRopeFreqs, keys.factor.from) : std::string(kRopeFreqs));
    if (keys.type.value == "yarn") {
      scope_.undecided("unread-fact", "rope_freqs.weight stands beside a YaRN rule; only the tensor was read.",
                       {std::string(kRopeFreqs), keys.type.from});
    } else if (divides_too) {
      for (double& factor : factors) factor *= keys.factor.value;
    }
    return FactorListScaling{.factors = std::move(factors)};
  }

  bool check_divisors(std::string_view tensor, const std::vector<double>& divisors, const Rope& rope) {
    if (std::ssize(divisors) != rope.pairs()) {
      fail_tensor(tensor, ErrorKind::length_mismatch, formatted("{} numbers, one a pair", rope.pairs()),
                  formatted("{}", divisors.size()));
      return false;
    }
    // Per layer they are copied: a small file must not claim much memory.
    if (std::ssize(divisors) * std::ssize(facts_.layers) > kMaxListEntries) {
      fail_tensor(tensor, ErrorKind::limit, formatted("at most {} numbers over all layers", kMaxListEntries),
                  formatted("{} for each of {} layers", divisors.size(), facts_.layers.size()));
      return false;
    }
    const auto bad = std::ranges::find_if(divisors, [](double divisor) { return !(divisor > 0); });
    if (bad == divisors.end()) return true;
    fail_tensor(tensor, ErrorKind::out_of_range, "divisors above 0", formatted("{}", *bad));
    return false;
  }

  void warn_unread() {
    for (const std::string_view tensor : factors_.unread) {
      scope_.undecided("tensor-not-read",
                       formatted("{} was not read, as a stream cannot go back: give the file by its path.", tensor),
                       {std::string(tensor)});
    }
  }

  void fail_tensor(std::string_view tensor, ErrorKind kind, std::string expected, std::string got) {
    FileError error;
    error.kind = kind;
    if (const io::GgufTensor* entry = scope_.header().tensor(tensor)) {
      error.offset = static_cast<std::int64_t>(entry->at);
    }
    error.path = std::string(tensor);
    error.expected = std::move(expected);
    error.got = std::move(got);
    scope_.fail(std::move(error));
  }

  // The rule that the finished Rope breaks becomes an error at the key it came from.
  void blame(const Problem& problem) {
    const std::string_view field = std::string_view(problem.field).substr(0, problem.field.find('['));
    auto source = std::ranges::find_if(
        sources_, [&](const FieldSource& known) { return known.field == field || known.field.ends_with(field); });
    // What is computed from several: the first of them that the file says.
    for (const std::string_view part :
         {"scaling/short_factor", "scaling/factors", "scaling/factor", "scaling/alpha", "base"}) {
      if (source == sources_.end()) source = std::ranges::find(sources_, part, &FieldSource::field);
    }
    std::string from = source == sources_.end() ? std::string() : source->from;
    const std::string prefix = scope_.key("");
    if (from.starts_with(prefix)) {
      return scope_.fail(from.substr(prefix.size()), ErrorKind::out_of_range, formatted("to {}", problem.must));
    }
    scope_.fail(FileError{.kind = ErrorKind::out_of_range,
                          .path = std::move(from),
                          .expected = formatted("{} to {}", problem.field, problem.must),
                          .got = problem.is});
  }

  GgufScope& scope_;
  const GgufArchitecture& row_;
  const GgufLayers& facts_;
  const GgufFactors& factors_;
  bool slides_;
  std::vector<FieldSource> sources_;
};

}  // namespace

GgufRotationDraft read_gguf_rotation(GgufScope& scope, const GgufLayers& facts, const GgufFactors& factors,
                                     bool slides) {
  return RotationReader(scope, facts, factors, slides).read();
}

}  // namespace posenc::plan
