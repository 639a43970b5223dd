// What a checkpoint makes of each way of stretching its rotation: the loss by position, and the recall of a key that
// stands somewhere in the text. By the engine of examples/decoder.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "line/command_line.h"
#include "posenc/extend.h"
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

// `plan`: of MODEL, as the study has it. Throws UsageError where the checkpoint is another model's, the text is too
// short, or the results are those of another call; Failure for files that cannot be read or written.
Evaluation evaluate(const ExtensionStudy& study, const Plan& plan, const ExtendArguments& arguments);

std::string evaluation_text(const Evaluation& evaluation, const ExtensionStudy& study);
std::string evaluation_json(const Evaluation& evaluation);

}  // namespace posenc::tool
