// Finds a family by model_type, or where a file has none by the stem of its class in architectures (LlamaForCausalLM).
#include <algorithm>
#include <cctype>

#include "base/formatted.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// What follows the stem in the names of Hugging Face's model classes.
constexpr Names kClassEndings{
    "Model PreTrainedModel EncoderModel LMHeadModel ModelWithLMHead DoubleHeadsModel Encoder Decoder ContextEncoder "
    "QuestionEncoder Reader ForCausalLM ForMaskedLM ForPreTraining ForConditionalGeneration ForSequenceClassification "
    "ForTokenClassification ForQuestionAnswering ForQuestionAnsweringSimple ForMultipleChoice "
    "ForNextSentencePrediction ForAudioClassification ForAudioFrameClassification ForXVector ForCTC ForRNNT ForTDT "
    "ForSegmentation"};

// Early files write LLaMAForCausalLM.
bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

template <typename Holds>
const Family* find_row(std::span<const Family> rows, Holds holds) {
  const auto row = std::ranges::find_if(rows, holds);
  return row == rows.end() ? nullptr : &*row;
}

template <typename Holds>
const Family* find_row(Holds holds) {
  for (std::span<const Family> table : family_tables()) {
    if (const Family* row = find_row(table, holds)) return row;
  }
  return nullptr;
}

}  // namespace

std::string family_default(const Family& family) { return formatted("default: the {} family", family.name); }

const Family* find_family(std::span<const Family> rows, std::string_view model_type) noexcept {
  return find_row(rows, [&](const Family& family) { return family.model_types.contains(model_type); });
}

const Family* find_family(std::string_view model_type) noexcept {
  return find_row([&](const Family& family) { return family.model_types.contains(model_type); });
}

const Family* find_family_of_class(std::string_view architecture) noexcept {
  return find_row([&](const Family& family) { return has_class(family, architecture); });
}

bool is_class(Names stems, std::string_view architecture) noexcept {
  return std::ranges::any_of(stems, [&](std::string_view stem) {
    if (architecture.size() < stem.size() || !equal_ignoring_case(architecture.substr(0, stem.size()), stem))
      return false;
    const std::string_view ending = architecture.substr(stem.size());
    return ending.empty() || kClassEndings.contains(ending);
  });
}

bool has_class(const Family& family, std::string_view architecture) noexcept {
  return is_class(family.class_stems, architecture);
}

}  // namespace posenc::plan
