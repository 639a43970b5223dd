// Decoders whose layers differ: latent attention, indexers, linear attention between, several axes, shared keys. Facts: the
// transformers 5.23.0 class named by the stem.
#include "plan/family_norms.h"
#include "plan/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kKimiLinear[] = {"kimi_linear"}, kKimiLinearClass[] = {"KimiLinear"};

constexpr Pairing kInterleaved = Pairing::interleaved;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "kimi_linear", .model_types = kKimiLinear, .class_stems = kKimiLinearClass, .pairing = kInterleaved,
     .latent = true, .scales = false, .kinds = Kinds::numbered, .turning = Turning::no_layer},
};
// clang-format on

}  // namespace

std::span<const Family> latent_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
