// The attention mask of posenc/c.h (kind, sliding window, chunks) put into a copy of a plan's layer, where a call gives
// one: Mask in plan.h.
#include "c/masked_layer.h"

#include <string>

#include "posenc/error.h"

namespace posenc::c {
namespace {

MaskKind kind_of(const char* where, posenc_mask_kind kind) {
  switch (kind) {
    case POSENC_CAUSAL: return MaskKind::causal;
    case POSENC_BIDIRECTIONAL: return MaskKind::bidirectional;
    case POSENC_PREFIX: return MaskKind::prefix;
    case POSENC_SPARSE: return MaskKind::sparse;
    default: break;
  }
  throw Error(where, {"mask->kind", "be POSENC_CAUSAL, _BIDIRECTIONAL, _PREFIX or _SPARSE", std::to_string(kind)});
}

}  // namespace

// The rest of the layer stays the plan's. `detail` is text for people, so C has no member for it.
Mask mask_of(const char* where, const posenc_mask& given) {
  Mask out{.kind = kind_of(where, given.kind), .window = {}, .chunk = {}, .detail = {}};
  // Flags, since 0 is a window of its own: a token that attends to itself alone. A chunk of 0 tokens is none.
  if (given.has_window != 0) out.window = Window{.past = given.window_past, .future = given.window_future};
  if (given.chunk != 0) out.chunk = given.chunk;
  return out;
}

}  // namespace posenc::c
