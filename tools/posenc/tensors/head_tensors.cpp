#include "tensors/head_tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::array<TensorLayout, 4> kLayouts{TensorLayout::thd, TensorLayout::htd, TensorLayout::bhtd,
                                               TensorLayout::bthd};

int rank_of(TensorLayout layout) { return static_cast<int>(name(layout).size()); }

std::int64_t heads_of(const TensorView& heads) { return heads.shape[1]; }
std::int64_t head_dim_of(const TensorView& heads) { return heads.shape[static_cast<std::size_t>(heads.rank - 1)]; }

// ---- what the layer has ----

bool fits(const TensorView& heads, const HeadsWanted& wanted) {
  return head_dim_of(heads) == wanted.channels && (wanted.heads == 0 || heads_of(heads) == wanted.heads);
}

// "; --layout htd would fit"
std::string other_layout(const TensorView& stored, const HeadsWanted& wanted) {
  for (const TensorLayout layout : kLayouts) {
    if (rank_of(layout) == stored.rank && fits(in_order(stored, layout), wanted)) {
      return formatted("; --layout {} fits", name(layout));
    }
  }
  return {};
}

std::string wanted_text(const HeadsWanted& wanted) {
  const std::string heads = wanted.heads == 0 ? formatted("{}s", wanted.kind) : count(wanted.heads, wanted.kind);
  return formatted("{} of {}", heads, count(wanted.channels, "channel"));
}

// ---- what the file has ----

void check_type(const TensorWord& word, const TensorArgument& tensor) {
  const ElementType type = tensor.data.type();
  if (type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16) return;
  const bool raw = type == ElementType::u16 && tensor.name.empty();
  refuse(word, tensor,
         formatted("expected f32, f16 or bf16, got {}{}", name(type), raw ? "; if these are bf16, give --bf16" : ""));
}

TensorLayout layout_of(const TensorWord& word, const TensorArgument& tensor, std::optional<TensorLayout> asked) {
  const std::vector<std::int64_t> shape(tensor.data.shape().begin(), tensor.data.shape().end());
  const auto rank = static_cast<int>(std::ssize(shape));
  if (asked && rank_of(*asked) != rank) {
    refuse(word, tensor,
           formatted("expected {} axes (--layout {}), got {}", rank_of(*asked), name(*asked), shape_text(shape)));
  }
  if (asked) return *asked;
  if (rank == 3) return TensorLayout::thd;
  if (rank == 4) return TensorLayout::bhtd;
  refuse(word, tensor,
         formatted("expected 3 axes, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim], "
                   "got {}",
                   shape_text(shape)));
}

bool is_dense(const ConstTensorView& view) {
  std::int64_t stride = 1;
  for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0; stride *= view.shape[axis]) {
    if (view.shape[axis] > 1 && view.strides[axis] != stride) return false;
  }
  return true;
}

// Column by column in a .npy file of Fortran order, where the channels of a head lie apart.
std::vector<std::byte> in_c_order(const ConstTensorView& view) {
  const auto width = static_cast<std::size_t>(bytes_of(view.dtype));
  std::int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[static_cast<std::size_t>(axis)];
  std::vector<std::byte> out(static_cast<std::size_t>(count) * width);
  std::array<std::int64_t, kMaxRank> at{};
  for (std::byte* to = out.data(); to != out.data() + out.size(); to += width) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) from += at[axis] * view.strides[axis];
    std::memcpy(to, static_cast<const std::byte*>(view.data) + from * static_cast<std::int64_t>(width), width);
    for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0 && ++at[axis] == view.shape[axis];) at[axis] = 0;
  }
  return out;
}

}  // namespace

TensorView in_order(const TensorView& stored, TensorLayout layout) {
  switch (layout) {
    case TensorLayout::thd:
    case TensorLayout::bhtd: return stored;
    case TensorLayout::htd: return transposed(stored, 0, 1);
    case TensorLayout::bthd: return transposed(stored, 1, 2);
  }
  return stored;
}

TensorView c_view(void* data, DType dtype, const std::vector<std::int64_t>& shape) {
  TensorView out{data, dtype, static_cast<int>(std::ssize(shape)), {}, {}};
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    out.shape[axis] = shape[axis];
    out.strides[axis] = stride;
  }
  return out;
}

std::string name(TensorLayout layout) {
  switch (layout) {
    case TensorLayout::thd: return "thd";
    case TensorLayout::htd: return "htd";
    case TensorLayout::bhtd: return "bhtd";
    case TensorLayout::bthd: return "bthd";
  }
  return {};
}

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.shape.begin(), view.shape.begin() + view.rank};
}

HeadsTensor read_heads(const TensorWord& word, std::optional<TensorLayout> layout, const HeadsWanted& wanted,
                       const std::string& layer_name) {
  HeadsTensor out{.source = read_tensor_argument(word)};
  check_type(word, out.source);
  out.layout = layout_of(word, out.source, layout);
  out.stored = out.source.data.mutable_view();
  if (!is_dense(out.stored)) {
    out.dense = in_c_order(out.stored);
    out.stored = c_view(out.dense.data(), out.stored.dtype, shape_of(out.stored));
  }
  out.heads = in_order(out.stored, out.layout);
  if (!fits(out.heads, wanted)) {
    refuse(word, out.source,
           formatted("expected {} ({}), got {} of {} ({} as {}){}", wanted_text(wanted), layer_name,
                     count(heads_of(out.heads), "head"), count(head_dim_of(out.heads), "channel"),
                     shape_text(shape_of(out.stored)), name(out.layout), other_layout(out.stored, wanted)));
  }
  return out;
}

void check_together(const HeadsTensor& q, const HeadsTensor& k) {
  const auto rows = [](const HeadsTensor& x) {
    const TensorView& h = x.heads;
    return h.rank == 3 ? std::array<std::int64_t, 2>{1, h.shape[0]}
                       : std::array<std::int64_t, 2>{h.shape[0], h.shape[2]};
  };
  if (q.heads.rank == k.heads.rank && rows(q) == rows(k)) return;
  const auto text = [](const HeadsTensor& x) {
    return formatted("{} as {}", shape_text(shape_of(x.stored)), name(x.layout));
  };
  throw failure(kMalformed,
                formatted("--q and --k: expected the same batch and tokens, got {} and {}", text(q), text(k)));
}

}  // namespace posenc::tool
