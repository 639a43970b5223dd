// What a checkpoint makes of each way of stretching its rotation: the loss by position, and the recall of a key that
// stands somewhere in the text. By the engine of examples/decoder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "extend/factor_search.h"
#include "line/command_line.h"
#include "posenc/extend.h"
#include "posenc/override_plan.h"
#include "posenc/plan.h"

namespace posenc::tool {

inline constexpr std::size_t kRanges = 8;  // of positions, equally long
inline constexpr std::array kDepths{0.1, 0.3, 0.5, 0.7, 0.9};
inline constexpr std::int64_t kKeyTokens = 8;
inline constexpr std::int64_t kShortest = 128;  // tokens of a window: a key, and a range of some tokens

struct WayMeasured {
  std::string way;
  std::array<double, kRanges> loss{};             // nats a token, the mean over windows
  std::array<double, kDepths.size()> recalled{};  // of the key's tokens, the part that was the likeliest
};

struct Evaluation {
  std::int64_t windows = 0;
  std::int64_t length = 0;  // tokens of a window
  std::int64_t vocab = 0;   // a guess recalls one in as many
  std::vector<WayMeasured> ways;
};

// What --search found, on stretches of the text behind those of the evaluation.
struct Search {
  struct Start {
    std::string way;
    double loss = 0.0;
  };
  std::int64_t windows = 0;
  std::int64_t first_token = 0;  // of these stretches
  std::vector<Start> starts;     // the ways that are lists of factors: where the search began
  SearchedFactors found;         // losses are nats a token, the mean over positions
  Extension way;                 // the same as settings
};

class Evaluator {
 public:
  // `plan`: of MODEL, as the study has it. Throws UsageError where the checkpoint is another model's, the text is too
  // short, or the results are those of another call; Failure for files that cannot be read or written.
  Evaluator(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // For --search. Throws UsageError within the trained length, where no way stretches anything.
  Search search(const ExtensionStudy& study);
  Evaluation measure(const ExtensionStudy& study);

 private:
  class Measuring;
  std::unique_ptr<Measuring> measuring_;
};

std::string evaluation_text(const Evaluation& evaluation, const ExtensionStudy& study);
std::string evaluation_json(const Evaluation& evaluation, const std::string& search_json);

// Starts, what was found, and how it is written.
std::string search_text(const Search& search, const std::vector<OverridePatch>& patches);
std::string search_json(const Search& search, const std::vector<OverridePatch>& patches);

}  // namespace posenc::tool
