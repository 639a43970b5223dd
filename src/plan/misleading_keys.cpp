// Keys that look as if positions depended on them.
#include "plan/key_notes.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kLengthsOfTraining[] = {"initial_context_length", "rope_max_length",
                                                   "tokenizer_model_max_length", "bert_model_max_length"};

constexpr std::string_view kOfOtherCode[] = {"sparse_init_block", "yarn_only_types"};

constexpr LeftOut kMisleading[] = {
    {"a length that decides nothing: tables and rotations go by the trained length", kLengthsOfTraining},
    {"read by other code than the class that decides, which does the same without it", kOfOtherCode},
};

}  // namespace

std::span<const LeftOut> keys_that_mislead() noexcept { return kMisleading; }

}  // namespace posenc::plan
