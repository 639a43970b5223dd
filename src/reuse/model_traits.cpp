#include "reuse/model_traits.h"

#include <algorithm>
#include <string_view>

namespace posenc::reuse {
namespace {

// Families, or model types, whose stacks are fed by more than embeddings of tokens (transformers 5.23.0; LongCat: vLLM
// longcat_flash_ngram.py).
constexpr std::string_view kMixedInput[] = {
    // Hashes of the bytes before a byte; patches of the encoder's bytes; bytes beside the global stack's patches.
    "blt", "blt_local_encoder", "blt_local_decoder", "blt_global_transformer",
    // Rows for each n-gram that ends with the token; of Qwen 4 with a convolution behind.
    "longcat_flash_ngram", "qwen4_exp", "qwen4_exp_text",
    // Codecs: convolutions of the sound, or of its codes.
    "mimi", "mimi_encoder", "mimi_decoder", "pocket_tts_audio_tokenizer", "xcodec2", "neucodec",
    // Patches, normalised by the mean and deviation of the series so far.
    "timesfm", "timesfm2_5"};

// RG-LRU (arXiv 2402.19427) multiplies what enters its state by sqrt(1 - a^2); transformers does so at every position
// but 0.
constexpr std::string_view kStartApart[] = {"recurrent_gemma"};

// A Mamba mixer reads what attention reads, in the same layer (Falcon-H1), or stands in it behind the attention that
// several layers share (Zamba).
constexpr std::string_view kStateBeside[] = {"falcon_h1", "falcon-h1", "zamba", "zamba2"};

// Stacks of embedded tokens. Others, and encoders, may be fed by convolutions of patches or frames, or by another
// stack's hidden states.
constexpr std::string_view kOfTokens[] = {"decoder", "text"};

template <std::size_t n>
bool is_among(const std::string_view (&names)[n], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

ModelTraits model_traits(const Plan& plan, const Stack& stack) {
  return {.tokens_alone = is_among(kOfTokens, stack.name) && !is_among(kMixedInput, plan.family) &&
                          !is_among(kMixedInput, plan.model_type),
          .start_apart = is_among(kStartApart, plan.family) || is_among(kStartApart, plan.model_type),
          .state_beside = is_among(kStateBeside, plan.family) || is_among(kStateBeside, plan.model_type)};
}

}  // namespace posenc::reuse
