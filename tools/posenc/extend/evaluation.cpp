#include "extend/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/decoder.h"
#include "decoder/tokenizer.h"
#include "extend/unit_results.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/progress.h"
#include "line/text.h"
#include "line/whole_input.h"
#include "posenc/override_plan.h"

namespace posenc::tool {
namespace {

constexpr const char* kSearched = "searched";
constexpr std::int64_t kChunk = 128;  // tokens that are read at once: of as many the logits are in memory
constexpr std::size_t kMostText = std::size_t{1} << 28;  // bytes: some 60 million tokens

// What the engine says of a file that it cannot use.
template <typename Work>
auto of_file(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw failure(kMalformed, printable(formatted("{}: {}", name, error.what())));
  } catch (const std::runtime_error& error) {
    throw failure(kMalformed, printable(formatted("{}: {}", name, error.what())));
  }
}

// Lines one by one, of which each is short: merging a text takes the square of its length.
Tokens tokens_of(const std::string& text, const Tokenizer& tokenizer) {
  if (tokenizer.first_of_text() == 0) return tokenizer.encode(text);
  Tokens out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const Tokens line = tokenizer.encode(text.substr(at, end - at));
    out.insert(out.end(), line.begin() + static_cast<std::ptrdiff_t>(tokenizer.first_of_text()), line.end());
    at = end;
  }
  return out;
}

// FNV-1a, 64 bits: whether these are the same numbers as before.
template <typename T>
std::uint64_t hash(std::span<const T> numbers, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const std::byte byte : std::as_bytes(numbers)) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

// Of what the checkpoint is, and of what --set has made of it.
std::uint64_t hash(const Model& model, const Plan& plan) {
  const std::string facts = to_json(plan);
  std::uint64_t out = hash(std::span(facts));
  for (const auto& [name, weight] : model.weights) {
    out = hash(std::span(name), out);
    out = hash(std::span(weight.values).first(std::min<std::size_t>(weight.values.size(), 64)), out);
  }
  return out;
}

// Whether a checkpoint is of the model that was asked for: by its heads and what rotates. Rows of q and k may be in
// Meta's order there.
void must_be_of(const Plan& plan, const Plan& checkpoint, const ExtendArguments& arguments) {
  const auto says = [](const LayerPlan& layer) {
    const bool rotates = !layer.rotate.empty();
    return formatted("{} heads of {} channels, {} for keys, rotated by base {:.6g}", layer.heads, layer.head_dim,
                     layer.kv_heads, rotates ? rope(layer.rotate[0]).base : 0.0);
  };
  const std::vector<LayerPlan>& wanted = plan.stacks.at(0).layers;
  const std::vector<LayerPlan>& is = checkpoint.stacks.at(0).layers;
  const auto differ = [&](const std::string& a, const std::string& b) {
    throw UsageError{printable(formatted("--evaluate: {} is not a checkpoint of {}: it has {}, and the model has {}",
                                         *arguments.checkpoint, arguments.model.name, b, a))};
  };
  if (wanted.size() != is.size()) {
    differ(formatted("{} layers", wanted.size()), formatted("{} layers", is.size()));
  }
  for (std::size_t n = 0; n < is.size(); ++n) {
    if (says(wanted[n]) != says(is[n])) differ(says(wanted[n]), formatted("in layer {} {}", n, says(is[n])));
  }
}

double surprise(std::span<const float> logits, std::int32_t token) {
  const double largest = static_cast<double>(*std::ranges::max_element(logits));
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0, [&](double all, float logit) {
    return all + std::exp(static_cast<double>(logit) - largest);
  });
  return std::log(sum) + largest - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

bool is_likeliest(std::span<const float> logits, std::int32_t token) {
  return std::ranges::max_element(logits) - logits.begin() == token;
}

}  // namespace

class Evaluator::Measuring {
 public:
  Measuring(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments)
      : windows_(arguments.windows),
        length_(study.to),
        tries_(arguments.search.value_or(0)),
        seed_(static_cast<std::uint64_t>(arguments.seed)),
        checkpoint_(*arguments.checkpoint),
        model_(of_file(*arguments.checkpoint, [&] { return read_model(*arguments.checkpoint, study.to); })) {
    model_.plan = with_settings(std::move(model_.plan), arguments.model);
    plain_ = model_.plan;
    must_be_of(plan, plain_, arguments);
    const Tokenizer tokenizer =
        of_file(arguments.tokenizer.value_or(""), [&] { return Tokenizer(arguments.tokenizer.value_or("")); });
    text_ = tokens_of(whole_file(arguments.text, kMostText), tokenizer);
    if (tokenizer.first_of_text() > 0) begin_ = {kBegin};
    if (length_ < kShortest) {
      throw UsageError{formatted("--to must be at least {} for --evaluate but is {}", kShortest, length_)};
    }
    const auto wanted = static_cast<double>(tries_ > 0 ? 2 * windows_ : windows_) * static_cast<double>(length_);
    if (static_cast<double>(text_.size()) < wanted) {
      throw UsageError{
          printable(formatted("--text must have {}--windows times --to tokens, {}, but {} has {}",
                              tries_ > 0 ? "for --search twice " : "", wanted, arguments.text, text_.size()))};
    }
    const Weight& table = model_.weights.at("embed_tokens.weight");
    vocab_ = static_cast<std::int64_t>(table.values.size() / table.columns);
    for (const std::int32_t token : text_) {
      if (token < 0 || token >= vocab_) {
        throw UsageError{printable(
            formatted("--text: {} has token {}, and the checkpoint {} tokens", arguments.text, token, vocab_))};
      }
    }
    results_.emplace(arguments.results, of(study));
  }

  Evaluation measure(const ExtensionStudy& study) {
    Evaluation out{.windows = windows_, .length = length_, .vocab = vocab_, .ways = {}};
    const auto possible = [](const Extension& way) { return way.refused.empty(); };
    const auto units = static_cast<std::int64_t>(kDepths.size() + 1) * windows_;
    all_ = done_ + std::ranges::count_if(study.ways, possible) * units * length_;
    for (const Extension& way : study.ways) {
      if (!possible(way)) continue;
      model_.plan = override_plan(plain_, way.settings);
      out.ways.push_back(of_file(checkpoint_, [&] { return measured(way); }));
    }
    progress_.wipe();
    return out;
  }

  Search search(const ExtensionStudy& study) {
    // Neither those that are no lists nor YaRN's two parts, which children of YaRN and "as it is" mix by themselves.
    const auto is_list = [](const Extension& way) {
      constexpr std::string_view kOthers[] = {"self_extend", "dual_chunk", "by_parts", "temperature"};
      return way.refused.empty() && std::ranges::find(kOthers, way.name) == std::end(kOthers);
    };
    if (study.ways.size() == 1) {
      throw UsageError{
          formatted("--search is for lengths beyond the trained one, {}, but --to is {}", study.from, study.to)};
    }
    Search out{.windows = windows_, .first_token = windows_ * length_, .starts = {}, .found = {}, .way = {}};
    FactorSearch search{
        .stretch = static_cast<double>(study.to) / static_cast<double>(study.from), .tries = tries_, .seed = seed_};
    std::vector<PairFactors> begin;
    for (const Extension& way : study.ways) {
      if (!is_list(way)) continue;
      begin.push_back(as_candidate(factors_of(way, study)));
      search.attention_factor = std::max(search.attention_factor, begin.back().attention_factor);
    }
    all_ = std::max(tries_, std::ssize(begin)) * windows_ * length_;
    const auto loss = [&](const PairFactors& factors) {
      return of_file(checkpoint_, [&] { return loss_of(factors, study); });
    };
    out.found = search_factors(begin, search, loss);
    done_ = all_;
    std::size_t n = 0;
    for (const Extension& way : study.ways) {
      if (is_list(way)) out.starts.push_back({way.name, loss(begin[n++])});
    }
    done_ = all_;
    out.way = way_of(out.found.best, study);
    progress_.wipe();
    return out;
  }

 private:
  std::string of(const ExtensionStudy& study) const {
    return formatted(
        R"({{"schema_version": 1, "from": {}, "to": {}, "windows": {}, "checkpoint": "{:016x}", "text": "{:016x}"}})",
        study.from, study.to, windows_, hash(model_, plain_), hash(std::span(std::as_const(text_))));
  }

  // What was measured under that name before, or `take` now.
  template <typename Take>
  const std::vector<double>& unit(const std::string& name, const Take& take) {
    if (results_->find(name) == nullptr) {
      const std::int64_t before = done_;
      results_->add(name, take());
      done_ = before;
    }
    done_ += length_;
    return *results_->find(name);
  }

  // The rotation that way gives the checkpoint, as divisors of its frequencies without a rule.
  PairFactors factors_of(const Extension& way, const ExtensionStudy& study) const {
    const Plan plan = override_plan(plain_, way.settings);
    Rope rope = posenc::rope(plan.stacks.at(0).layers.at(static_cast<std::size_t>(study.layer)).rotate.at(0));
    const Frequencies now = check(rope, study.to) ? frequencies(rope) : frequencies(rope, study.to);
    rope.scaling = std::monostate{};
    const Frequencies plain = frequencies(rope);
    PairFactors out{.factors = {}, .attention_factor = now.attention_factor};
    out.factors.reserve(plain.inv_freq.size());
    for (std::size_t p = 0; p < plain.inv_freq.size(); ++p) out.factors.push_back(plain.inv_freq[p] / now.inv_freq[p]);
    return out;
  }

  // As LongRoPE's rule, which config.json has: sequences within the trained length keep their frequencies.
  static Extension way_of(const PairFactors& found, const ExtensionStudy& study) {
    std::string ones;
    std::string factors;
    for (const double factor : found.factors) {
      ones += ones.empty() ? "1" : ",1";
      factors += formatted("{}{}", factors.empty() ? "" : ",", factor);
    }
    return {.name = kSearched,
            .about = "A factor of each pair, found by the loss of a checkpoint (LongRoPE, arXiv 2402.13753).",
            .settings = {formatted(
                "rope_scaling=longrope,factor={},original={},attention_factor={},short_factor=[{}],long_factor=[{}]",
                static_cast<double>(study.to) / static_cast<double>(study.from), study.from, found.attention_factor,
                ones, factors)},
            .refused = {}};
  }

  // The mean over the positions of the windows behind those of the evaluation.
  double loss_of(const PairFactors& factors, const ExtensionStudy& study) {
    const Extension way = way_of(factors, study);
    model_.plan = override_plan(plain_, way.settings);
    double sum = 0.0;
    for (std::int64_t w = windows_; w < 2 * windows_; ++w) {
      const std::string name = formatted("{}, loss, {}", unit_of(way), w);
      for (const double mean : unit(name, [&] { return loss("the search", w); })) sum += mean;
    }
    return sum / static_cast<double>(static_cast<std::size_t>(windows_) * kRanges);
  }

  // What a search found has one name and many factors.
  static std::string unit_of(const Extension& way) {
    if (way.name != kSearched) return way.name;
    return formatted("{} {:016x}", way.name, hash(std::span(way.settings.at(0))));
  }

  WayMeasured measured(const Extension& extension) {
    const std::string& way = extension.name;
    const std::string named = unit_of(extension);
    WayMeasured out{.way = way};
    for (std::int64_t w = 0; w < windows_; ++w) {
      const std::vector<double>& sums = unit(formatted("{}, loss, {}", named, w), [&] { return loss(way, w); });
      for (std::size_t r = 0; r < kRanges && r < sums.size(); ++r) {
        out.loss[r] += sums[r] / static_cast<double>(windows_);
      }
      for (std::size_t d = 0; d < kDepths.size(); ++d) {
        const std::vector<double>& hits =
            unit(formatted("{}, recall, {}, {}", named, kDepths[d], w), [&] { return recall(way, w, kDepths[d]); });
        if (!hits.empty()) out.recalled[d] += hits[0] / static_cast<double>(windows_ * kKeyTokens);
      }
    }
    return out;
  }

  // visit(number of a token, the logits before it)
  template <typename Visit>
  void run(const std::string& way, std::span<const std::int32_t> tokens, const Visit& visit) {
    Decoder decoder(model_, std::ssize(tokens), false, 0);
    for (std::int64_t at = 0; at < std::ssize(tokens); at += kChunk) {
      progress_.show("evaluating " + way, done_, all_);
      const std::int64_t count = std::min(kChunk, std::ssize(tokens) - at);
      const auto vocab = static_cast<std::size_t>(vocab_);
      const Numbers logits =
          decoder.read(tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
      for (std::int64_t n = 0; n < count && at + n + 1 < std::ssize(tokens); ++n) {
        visit(at + n + 1, std::span(logits).subspan(static_cast<std::size_t>(n) * vocab, vocab));
      }
      done_ += count;
    }
  }

  Tokens window(std::int64_t number, std::int64_t count) const {
    Tokens out = begin_;
    const auto from = text_.begin() + number * length_;
    out.insert(out.end(), from, from + count - std::ssize(begin_));
    return out;
  }

  // Means of each range of positions.
  std::vector<double> loss(const std::string& way, std::int64_t number) {
    const Tokens tokens = window(number, length_);
    std::vector<double> sums(kRanges);
    std::vector<double> counts(kRanges);
    run(way, tokens, [&](std::int64_t n, std::span<const float> logits) {
      const auto range = static_cast<std::size_t>(n * static_cast<std::int64_t>(kRanges) / length_);
      sums[range] += surprise(logits, tokens[static_cast<std::size_t>(n)]);
      counts[range] += 1.0;
    });
    for (std::size_t r = 0; r < kRanges; ++r) sums[r] /= counts[r];
    return sums;
  }

  // Text, in it a mark and a key, tokens at random; at the end the mark again. How much of the key is likeliest then.
  std::vector<double> recall(const std::string& way, std::int64_t number, double depth) {
    std::mt19937_64 random(static_cast<std::uint64_t>(number) * 1000U + static_cast<std::uint64_t>(depth * 100.0));
    Tokens drawn;
    while (std::ssize(drawn) < 2 * kKeyTokens) drawn.push_back(text_[random() % text_.size()]);
    Tokens tokens = window(number, length_ - 4 * kKeyTokens);
    const auto place = static_cast<std::ptrdiff_t>(depth * static_cast<double>(tokens.size()));
    tokens.insert(tokens.begin() + place, drawn.begin(), drawn.end());
    tokens.insert(tokens.end(), drawn.begin(), drawn.end());
    double hits = 0.0;
    run(way, tokens, [&](std::int64_t n, std::span<const float> logits) {
      if (n >= length_ - kKeyTokens && is_likeliest(logits, tokens[static_cast<std::size_t>(n)])) hits += 1.0;
    });
    return {hits};
  }

  std::int64_t windows_;
  std::int64_t length_;
  std::int64_t tries_;
  std::uint64_t seed_;
  std::string checkpoint_;
  Model model_;
  Plan plain_;
  Tokens text_;
  Tokens begin_;
  std::int64_t vocab_ = 0;
  std::int64_t done_ = 0;
  std::int64_t all_ = 1;
  std::optional<UnitResults> results_;
  Progress progress_;
};

Evaluator::Evaluator(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments)
    : measuring_(of_file(*arguments.checkpoint, [&] { return std::make_unique<Measuring>(study, plan, arguments); })) {}
Evaluator::~Evaluator() = default;

Search Evaluator::search(const ExtensionStudy& study) { return measuring_->search(study); }
Evaluation Evaluator::measure(const ExtensionStudy& study) { return measuring_->measure(study); }

}  // namespace posenc::tool
