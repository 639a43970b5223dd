#include "extend/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
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
#include "posenc/override_plan.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kChunk = 128;  // tokens that are read at once: of as many the logits are in memory

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

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator(file), {}};
  if (!file.is_open() || file.bad()) throw failure(kFile, printable(path) + ": cannot be read");
  return text;
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

class Measuring {
 public:
  Measuring(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments)
      : study_(study),
        windows_(arguments.windows),
        length_(study.to),
        model_(of_file(*arguments.checkpoint, [&] { return read_model(*arguments.checkpoint, study.to); })) {
    model_.plan = with_settings(std::move(model_.plan), arguments.model);
    plain_ = model_.plan;
    must_be_of(plan, plain_, arguments);
    const Tokenizer tokenizer =
        of_file(arguments.tokenizer.value_or(""), [&] { return Tokenizer(arguments.tokenizer.value_or("")); });
    text_ = tokens_of(whole_file(arguments.text), tokenizer);
    if (tokenizer.first_of_text() > 0) begin_ = {kBegin};
    if (length_ < kShortest) {
      throw UsageError{formatted("--to must be at least {} for --evaluate but is {}", kShortest, length_)};
    }
    const auto wanted = static_cast<double>(windows_) * static_cast<double>(length_);
    if (static_cast<double>(text_.size()) < wanted) {
      throw UsageError{printable(formatted("--text must have --windows times --to tokens, {}, but {} has {}", wanted,
                                           arguments.text, text_.size()))};
    }
    const Weight& table = model_.weights.at("embed_tokens.weight");
    vocab_ = static_cast<std::int64_t>(table.values.size() / table.columns);
    for (const std::int32_t token : text_) {
      if (token < 0 || token >= vocab_) {
        throw UsageError{printable(
            formatted("--text: {} has token {}, and the checkpoint {} tokens", arguments.text, token, vocab_))};
      }
    }
  }

  std::string of() const {
    return formatted(
        R"({{"schema_version": 1, "from": {}, "to": {}, "windows": {}, "checkpoint": "{:016x}", "text": "{:016x}"}})",
        study_.from, study_.to, windows_, hash(model_, plain_), hash(std::span(std::as_const(text_))));
  }

  Evaluation measure(UnitResults& results) {
    Evaluation out{.windows = windows_, .length = length_, .vocab = vocab_, .ways = {}};
    const auto possible = [](const Extension& way) { return way.refused.empty(); };
    const auto units = static_cast<std::int64_t>(kDepths.size() + 1) * windows_;
    all_ = std::ranges::count_if(study_.ways, possible) * units * length_;
    for (const Extension& way : study_.ways) {
      if (!possible(way)) continue;
      model_.plan = override_plan(plain_, way.settings);
      out.ways.push_back(measured(way.name, results));
    }
    progress_.wipe();
    return out;
  }

 private:
  WayMeasured measured(const std::string& way, UnitResults& results) {
    WayMeasured out{.way = way};
    const auto unit = [&](const std::string& name, const auto& take) -> const std::vector<double>& {
      if (results.find(name) == nullptr) {
        const std::int64_t before = done_;
        results.add(name, take());
        done_ = before;
      }
      done_ += length_;
      return *results.find(name);
    };
    for (std::int64_t w = 0; w < windows_; ++w) {
      const std::vector<double>& sums = unit(formatted("{}, loss, {}", way, w), [&] { return loss(way, w); });
      for (std::size_t r = 0; r < kRanges && r < sums.size(); ++r) {
        out.loss[r] += sums[r] / static_cast<double>(windows_);
      }
      for (std::size_t d = 0; d < kDepths.size(); ++d) {
        const std::vector<double>& hits =
            unit(formatted("{}, recall, {}, {}", way, kDepths[d], w), [&] { return recall(way, w, kDepths[d]); });
        if (!hits.empty()) out.recalled[d] += hits[0] / static_cast<double>(windows_ * kKeyTokens);
      }
    }
    return out;
  }

  // visit(number of a token, the logits before it)
  template <typename Visit>
  void run(const std::string& way, std::span<const std::int32_t> tokens, const Visit& visit) {
    Decoder decoder(model_, std::ssize(tokens), 0);
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

  const ExtensionStudy& study_;
  std::int64_t windows_;
  std::int64_t length_;
  Model model_;
  Plan plain_;
  Tokens text_;
  Tokens begin_;
  std::int64_t vocab_ = 0;
  std::int64_t done_ = 0;
  std::int64_t all_ = 1;
  Progress progress_;
};

}  // namespace

Evaluation evaluate(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments) {
  return of_file(*arguments.checkpoint, [&] {
    Measuring measuring(study, plan, arguments);
    UnitResults results(arguments.results, measuring.of());
    return measuring.measure(results);
  });
}

}  // namespace posenc::tool
