// The words become queries and keys of a layer, whose weights reference::attend gives without the scheme and with it;
// reference::attend_linear for linear attention (RoFormer, arXiv 2104.09864, (19)). Only schemes without learned
// tables: biases(), sinusoids, and layer_schemes().
#include "plot/attended_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/text.h"
#include "plot/drawn_layer.h"
#include "plot/input_word.h"
#include "plot/normal_numbers.h"
#include "plot/numbers.h"
#include "plot/term_tables.h"
#include "plot/term_word.h"
#include "posenc/input.h"
#include "posenc/reference_linear.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kChannels = 16;
constexpr std::int64_t kMostWords = 20;

// ---- words ----

// Split at spaces, of which several count as one. They are shown through printable(), and compared as bytes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{{}};
  for (const char c : text) {
    if (c != ' ') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  const std::int64_t found = std::ssize(words);
  if (found < 2 || found > kMostWords) {
    throw UsageError{formatted("--words: expected 2 to {} words with spaces between them, got {}", kMostWords, found)};
  }
  return words;
}

// Each word has a direction of its own: FNV-1a of its bytes is the seed. The length makes its score with itself, over
// sqrt(channels), sqrt(channels) = 4; other words score about 0, +-1.
std::vector<double> vector_of(const std::string& word) {
  std::uint64_t seed = 0xcbf29ce484222325U;
  for (const char c : word) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::vector<double> out = normal_numbers(seed, kChannels);
  double squares = 0.0;
  for (const double x : out) squares += x * x;
  for (double& x : out) x *= std::sqrt(static_cast<double>(kChannels) / squares);
  return out;
}

// [words, heads, channels]
std::vector<double> vectors_of(const std::vector<std::string>& words, std::int64_t heads) {
  std::vector<double> out;
  for (const std::string& word : words) {
    const std::vector<double> one = vector_of(word);
    for (std::int64_t h = 0; h < heads; ++h) out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

// Gives a layer the words, and says how it scores them.
void set_words(DrawnLayer& drawn, const std::vector<std::string>& words, MaskKind mask) {
  drawn.queries = drawn.keys = std::ssize(words);
  drawn.layer.head_dim = kChannels;
  drawn.layer.softmax_scale = 1.0 / std::sqrt(static_cast<double>(kChannels));
  drawn.layer.mask.kind = mask;
  drawn.q = drawn.k = vectors_of(words, drawn.layer.heads);
}

DrawnLayer without_scheme(const std::vector<std::string>& words, MaskKind mask) {
  DrawnLayer drawn;
  drawn.layer = {.heads = 1, .kv_heads = 1, .head_dim = kChannels, .value_dim = 1};
  set_words(drawn, words, mask);
  return drawn;
}

// ---- schemes ----

// A layer with words and a scheme, and the scheme in words.
struct WithScheme {
  DrawnLayer drawn;
  std::string detail;
  bool linear = false;  // linear attention
};

// Of all channels; to random vectors one pairing is as good as the other.
Rope rope_of(const Numbers& n) {
  return {.pairing = Pairing::half, .head_dim = kChannels, .dim = kChannels, .base = n.real("base", 10000.0)};
}

// Each of these puts its scheme into the layer, which has the words already. Numbers that are left out have the
// defaults that `posenc plot attention --help` lists (attention_options.cpp).
void rotation(const SchemeWord& word, WithScheme& with) {
  check_numbers(word, {"base"});
  const Rope rope = rope_of(Numbers(word));
  with.drawn.layer.rotate = {{.heads = 1, .scheme = rope}};
  with.detail = formatted("RoPE, base {}, {} channels", number(rope.base), kChannels);
}

void linear(const SchemeWord& word, WithScheme& with) {
  rotation(word, with);
  with.linear = true;
  with.detail = "linear attention (elu + 1), " + with.detail;
}

void xpos(const SchemeWord& word, WithScheme& with) {
  check_numbers(word, {"base", "scale_base"});
  const Numbers n(word);
  const XPos scheme{.rope = rope_of(n), .scale_base = n.above_zero("scale_base", 512.0)};
  with.drawn.layer.rotate = {{.heads = 1, .scheme = scheme}};
  with.detail = formatted("xPos, base {}, scale_base {}, {} channels", number(scheme.rope.base),
                          number(scheme.scale_base), kChannels);
}

// 2 is half of a word's score with itself, so that the cap shows.
void soft_cap(const SchemeWord& word, WithScheme& with) {
  check_numbers(word, {"cap"});
  const double cap = Numbers(word).above_zero("cap", 2.0);
  with.drawn.layer.soft_cap = SoftCap{.cap = cap};
  with.detail = formatted("soft cap of {}: scores stay within -{} and {}", number(cap), number(cap), number(cap));
}

// 4 is as much as a word's score with itself.
void sink(const SchemeWord& word, WithScheme& with) {
  check_numbers(word, {"logit"});
  const double logit = Numbers(word).real("logit", 4.0);
  with.drawn.layer.sinks = true;
  with.drawn.weights.sinks = with.drawn.tables.add({logit}, {1});
  with.detail = formatted("a sink with the logit {} takes its share of each row", number(logit));
}

using SetScheme = void (*)(const SchemeWord&, WithScheme&);
const std::map<std::string, SetScheme>& layer_schemes() {
  static const std::map<std::string, SetScheme> all{
      {"rope", rotation}, {"xpos", xpos}, {"linear", linear}, {"soft_cap", soft_cap}, {"sink", sink}};
  return all;
}

// Biases in which nothing is learned.
const std::vector<std::string>& biases() {
  static const std::vector<std::string> names{"alibi", "kerple", "sandwich"};
  return names;
}

// term_picture makes a head of one channel, with queries and keys of 0; set_words puts the words in their place.
WithScheme with_bias(const SchemeText& scheme, const std::vector<std::string>& words, MaskKind mask) {
  const DrawnTerm term = read_term(scheme);
  TermPicture picture = term_picture(term, std::ssize(words), std::ssize(words), mask);
  set_words(picture.drawn, words, mask);
  const std::string head = term.heads == 1 ? "" : formatted("; head 0 of {}", term.heads);
  return {.drawn = std::move(picture.drawn), .detail = picture.detail + head};
}

// The encoding is added to a word's vector, and the sum is query and key: there are no W_Q and W_K here.
WithScheme with_input(const SchemeText& scheme, DrawnLayer drawn) {
  const InputScheme input = read_input_scheme(scheme);
  const auto& sines = std::get<SinusoidalInput>(input);
  for (std::int64_t i = 0; i < drawn.queries; ++i) {
    const std::vector<double> row = input_row(sines, kChannels, static_cast<double>(i));
    for (std::int64_t c = 0; c < kChannels; ++c) {
      drawn.q[static_cast<std::size_t>(i * kChannels + c)] += row[static_cast<std::size_t>(c)];
    }
  }
  drawn.k = drawn.q;
  return {.drawn = std::move(drawn), .detail = input_text(input) + " to the words"};
}

// Throws UsageError, listing all names, for a scheme that is of none of these kinds.
WithScheme with_scheme(const AttentionPlot& plot, const std::vector<std::string>& words, MaskKind mask) {
  const SchemeText text{"--scheme", plot.scheme};
  const std::string name = split(plot.scheme).front();
  if (std::find(biases().begin(), biases().end(), name) != biases().end()) return with_bias(text, words, mask);
  if (name == "sinusoidal") return with_input(text, without_scheme(words, mask));
  WithScheme with{.drawn = without_scheme(words, mask), .detail = {}};
  read_scheme(text, [&](const SchemeWord& word) {
    const auto found = layer_schemes().find(word.name);
    if (found != layer_schemes().end()) return found->second(word, with);
    std::vector<std::string> names = biases();
    names.emplace_back("sinusoidal");
    for (const auto& [known, set] : layer_schemes()) names.push_back(known);
    unknown_scheme(word, names);
  });
  return with;
}

// ---- weights ----

// Of linear attention: what comes out where the value of key j is 1 in channel j and 0 elsewhere.
std::vector<double> linear_weights(const DrawnLayer& drawn) {
  const std::int64_t n = drawn.keys;
  LayerPlan layer = drawn.layer;
  layer.value_dim = n;
  std::vector<double> v(static_cast<std::size_t>(n * n));
  for (std::int64_t j = 0; j < n; ++j) v[static_cast<std::size_t>(j * n + j)] = 1.0;
  std::vector<double> out(static_cast<std::size_t>(n * n));
  (void)reference::attend_linear(layer, {.out = tensor(out.data(), {n, 1, n}),
                                         .q = tensor(drawn.q.data(), {n, 1, kChannels}),
                                         .k = tensor(drawn.k.data(), {n, 1, kChannels}),
                                         .v = tensor(std::as_const(v).data(), {n, 1, n})});
  return out;
}

std::vector<double> weights_of(const DrawnLayer& drawn, bool linear) {
  return linear ? linear_weights(drawn) : scores_of(drawn, reference::ScoreStage::weights);
}

}  // namespace

AttendedWords attend_words(const AttentionPlot& plot) {
  std::vector<std::string> words = words_of(plot.words);
  const MaskKind mask = plot.both_ways ? MaskKind::bidirectional : MaskKind::causal;
  const WithScheme with = with_scheme(plot, words, mask);
  std::vector<double> plain = weights_of(without_scheme(words, mask), with.linear);
  std::vector<double> placed = weights_of(with.drawn, with.linear);
  return {.words = std::move(words), .detail = with.detail, .without = std::move(plain), .with = std::move(placed)};
}

}  // namespace posenc::tool
