// Features of a processor -> instruction sets, in the order of what is fastest there: avx2 needs AVX2, FMA3 and F16C,
// avx512 F, DQ, VL and BW, and so on. offered_isas.h says why the order differs by vendor.
#include "cpu/machine/x86/offered_isas.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace posenc::cpu {
namespace {

bool all_in(std::initializer_list<std::string_view> wanted, const std::vector<std::string>& features) {
  return std::ranges::all_of(
      wanted, [&](std::string_view name) { return std::ranges::find(features, name) != features.end(); });
}

}  // namespace

std::vector<Isa> offered_isas(const Processor& processor) {
  const std::vector<std::string>& features = processor.features;
  std::vector<Isa> out{Isa::scalar};
  if (!all_in({"avx2", "fma", "f16c"}, features)) return out;
  out.push_back(Isa::avx2);
  if (!all_in({"avx512f", "avx512dq", "avx512bw", "avx512vl"}, features)) return out;
  out.push_back(Isa::avx512);
  if (all_in({"avx512_bf16"}, features)) {
    out.insert(processor.is_amd ? out.end() : out.end() - 1, Isa::avx512_bf16);
  }
  if (processor.has_tiles && all_in({"amx_tile", "amx_bf16"}, features)) out.push_back(Isa::amx);
  return out;
}

}  // namespace posenc::cpu
