// dequantise() of posenc/cache/quantised.h: a quantised tensor as f32, head by head.
#include <string>

#include "base/formatted.h"
#include "cpu/cache/codes_view.h"
#include "cpu/machine/dispatch.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {

void dequantise(const TensorView& out, const ConstQuantisedView& x, bool paged) {
  constexpr const char* kWhere = "dequantise";
  const cpu::Axes axes = paged ? cpu::Axes::tokens_then_heads : cpu::Axes::heads_then_tokens;
  cpu::CodesMemory codes;
  const cpu::CodesView view = cpu::check_quantised({kWhere, "x"}, x, axes, codes);
  if (out.rank != x.rank)
    throw Error(kWhere, {"out.rank", formatted("be that of x, {},", x.rank), formatted("{}", out.rank)});
  if (out.dtype != DType::f32) throw Error(kWhere, {"out.dtype", "be f32", std::string(name(out.dtype))});
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(x.rank); ++axis) {
    if (out.shape[axis] == x.shape[axis]) continue;
    throw Error(kWhere, {formatted("out.shape[{}]", axis), formatted("be that of x, {},", x.shape[axis]),
                         formatted("{}", out.shape[axis])});
  }
  cpu::HeadsMemory memory;
  const cpu::HeadsView to = cpu::check_heads({kWhere, "out"}, out, {kWhere, ""}, {}, view.channels,
                                             x.rank == 4 ? axes : cpu::Axes::heads_then_tokens, memory);
  if (to.to == nullptr) return;
  for (const cpu::Memory& read : codes.of) {
    if (cpu::are_disjoint(memory.written, read)) continue;
    throw Error(kWhere, {"out", "share no memory with x", "overlapping"});
  }
  const kernels::KernelTable& kernels = cpu::kernels_for(kWhere, Isa::automatic);
  for (std::int64_t member = 0; member < view.batch; ++member) {
    for (std::int64_t head = 0; head < view.heads; ++head) {
      float* const first = static_cast<float*>(to.to) + member * to.to_strides.batch + head * to.to_strides.head;
      cpu::read_codes(*kernels.codes, view, member, 0, head, view.tokens, first, to.to_strides.row);
    }
  }
}

}  // namespace posenc::inline v0_2
