// Order of the checks, each of which ends the command with a message about the flag and the file: that the tensor can
// be read, its type, its number of axes, its heads and channels (exit codes 3 and 4).
#include "tensors/head_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
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

// Heads are on axis 1 in both orders that rotate and attend take, channels on the last.
std::int64_t heads_of(const TensorView& heads) { return heads.shape[1]; }
std::int64_t head_dim_of(const TensorView& heads) { return heads.shape[static_cast<std::size_t>(heads.rank - 1)]; }

// ---- what the layer has ----

bool fits(const TensorView& heads, const HeadsWanted& wanted) {
  return head_dim_of(heads) == wanted.channels && (wanted.heads == 0 || heads_of(heads) == wanted.heads);
}

// Another order of as many axes that fits. It is proposed and not taken: sizes may fit by chance.
std::optional<TensorLayout> other_layout(const TensorView& stored, TensorLayout taken, const HeadsWanted& wanted) {
  for (const TensorLayout layout : kLayouts) {
    if (layout != taken && rank_of(layout) == stored.rank && fits(in_order(stored, layout), wanted)) return layout;
  }
  return {};
}

// "32 query heads of 128 channels"; of a number that is not known "KV heads of 128 channels".
std::string wanted_text(const HeadsWanted& wanted) {
  const std::string heads = wanted.heads == 0 ? formatted("{}s", wanted.kind) : count(wanted.heads, wanted.kind);
  return formatted("{} of {}", heads, count(wanted.channels, "channel"));
}

// ---- what the file has ----

// A .npy file cannot say bf16: its elements are raw or unsigned numbers of 16 bits then, and --bf16 tells.
void check_type(const TensorWord& word, const TensorArgument& tensor) {
  const ElementType type = tensor.data.type();
  if (dtype_of(type)) return;
  const bool raw = type == ElementType::u16 && tensor.name.empty();
  refuse(
      word, tensor,
      formatted("expected f32, f16, bf16 or f64, got {}{}", name(type), raw ? "; if these are bf16, give --bf16" : ""));
}

// "; --heads 32 fits": the last axis has as many channels as all heads together. Proposed, as an order of axes is.
std::string joined_hint(const std::vector<std::int64_t>& shape, const HeadsWanted& wanted) {
  const bool rank = shape.size() == 2 || shape.size() == 3;
  if (!rank || wanted.heads <= 1 || shape.back() != wanted.heads * wanted.channels) return {};
  return formatted("; --heads {} fits", wanted.heads);
}

// What --layout says, which has to have as many axes; else thd of 3 axes and bhtd of 4.
TensorLayout layout_of(const TensorWord& word, const TensorArgument& tensor, const HeadsWanted& wanted) {
  const std::optional<TensorLayout> asked = wanted.layout;
  const std::vector<std::int64_t> shape(tensor.data.shape().begin(), tensor.data.shape().end());
  const auto rank = static_cast<int>(std::ssize(shape));
  if (wanted.joined_heads) {
    if (rank == 2) return TensorLayout::thd;
    if (rank == 3) return TensorLayout::bthd;
    refuse(word, tensor,
           formatted("expected 2 axes (--heads), [tokens, heads * head_dim], or 3, [batch, tokens, heads * head_dim], "
                     "got {}",
                     shape_text(shape)));
  }
  if (asked && rank_of(*asked) != rank) {
    refuse(word, tensor,
           formatted("expected {} axes (--layout {}), got {}", rank_of(*asked), name(*asked), shape_text(shape)));
  }
  if (asked) return *asked;
  if (rank == 3) return TensorLayout::thd;
  if (rank == 4) return TensorLayout::bhtd;
  refuse(word, tensor,
         formatted("expected 3 axes, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim], "
                   "got {}{}",
                   shape_text(shape), joined_hint(shape, wanted)));
}

// In C order without gaps. The stride of an axis of one element is never used.
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
  out.reserve(1);  // a view without a place would be none at all, where there are no tokens
  std::array<std::int64_t, kMaxRank> at{};
  for (std::byte* to = out.data(); to != out.data() + out.size(); to += width) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) from += at[axis] * view.strides[axis];
    std::memcpy(to, static_cast<const std::byte*>(view.data) + from * static_cast<std::int64_t>(width), width);
    // An odometer: the last axis counts, and carries to the one before.
    for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0 && ++at[axis] == view.shape[axis];) at[axis] = 0;
  }
  return out;
}

// NumPy's default. What float32 cannot hold is refused, not made infinite.
std::vector<std::byte> as_f32(const TensorWord& word, const TensorArgument& tensor, const TensorView& dense) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape_of(dense)) count *= size;
  std::vector<std::byte> out(static_cast<std::size_t>(count) * sizeof(float));
  out.reserve(1);  // as in_c_order
  const std::span<const double> from(static_cast<const double*>(dense.data), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool is_held = !std::isfinite(from[i]) || std::fabs(from[i]) <= std::numeric_limits<float>::max();
    if (!is_held) refuse(word, tensor, formatted("expected numbers that f32 can hold, got {}", from[i]));
    const auto to = static_cast<float>(from[i]);
    std::memcpy(out.data() + i * sizeof(float), &to, sizeof(float));
  }
  return out;
}

// With --heads: the last axis as two. How many heads there are is the layer's to say where it knows; else --heads says
// it of the first tensor, and the number of channels of the others.
TensorView split_heads(const TensorWord& word, const HeadsTensor& tensor, const HeadsWanted& wanted,
                       const std::string& layer_name) {
  if (wanted.first && wanted.heads != 0 && *wanted.joined_heads != wanted.heads) {
    throw UsageError{formatted("--heads: expected {}, the {}s of {}, got {}", wanted.heads, wanted.kind, layer_name,
                               *wanted.joined_heads)};
  }
  std::vector<std::int64_t> shape = shape_of(tensor.stored);
  const std::int64_t width = shape.back();
  std::int64_t heads = wanted.heads;
  if (heads == 0) heads = wanted.first ? *wanted.joined_heads : std::max<std::int64_t>(1, width / wanted.channels);
  if (width / wanted.channels != heads || width % wanted.channels != 0) {
    refuse(word, tensor.source,
           formatted("expected {} times {} channels on the last axis ({}), got {} ({})", count(heads, wanted.kind),
                     wanted.channels, layer_name, width, shape_text(shape)));
  }
  shape.back() = heads;
  shape.push_back(wanted.channels);
  return posenc::tensor(tensor.stored.data, tensor.stored.dtype, shape);
}

}  // namespace

std::string stored_type_text(const HeadsTensor& tensor) {
  const ElementType type = tensor.source.data.type();
  if (dtype_of(type) == tensor.stored.dtype) return {};
  return formatted("{} in the file", name(type));
}

TensorView in_order(const TensorView& stored, TensorLayout layout) {
  switch (layout) {
    case TensorLayout::thd:
    case TensorLayout::bhtd: return stored;
    case TensorLayout::htd: return transposed(stored, 0, 1);
    case TensorLayout::bthd: return transposed(stored, 1, 2);
  }
  return stored;
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

HeadsTensor read_heads(const TensorWord& word, const HeadsWanted& wanted, const std::string& layer_name) {
  HeadsTensor out{.source = read_tensor_argument(word)};
  check_type(word, out.source);
  out.layout = layout_of(word, out.source, wanted);
  // rotate works in place in this memory, and writes the same view.
  out.stored = out.source.data.mutable_view();
  if (!is_dense(out.stored)) {
    out.dense = in_c_order(out.stored);
    out.stored = tensor(out.dense.data(), out.stored.dtype, shape_of(out.stored));
  }
  if (out.stored.dtype == DType::f64) {
    out.dense = as_f32(word, out.source, out.stored);
    out.stored = tensor(out.dense.data(), DType::f32, shape_of(out.stored));
  }
  out.split = wanted.joined_heads ? split_heads(word, out, wanted, layer_name) : out.stored;
  out.heads = in_order(out.split, out.layout);
  const std::optional<TensorLayout> other =
      wanted.joined_heads ? std::nullopt : other_layout(out.stored, out.layout, wanted);
  if (!fits(out.heads, wanted)) {
    refuse(
        word, out.source,
        formatted("expected {} ({}), got {} of {} ({} as {}){}", wanted_text(wanted), layer_name,
                  count(heads_of(out.heads), "head"), count(head_dim_of(out.heads), "channel"),
                  shape_text(shape_of(out.stored)), name(out.layout),
                  other ? formatted("; --layout {} fits", name(*other)) : joined_hint(shape_of(out.stored), wanted)));
  }
  if (!wanted.layout) out.other_layout = other;
  return out;
}

void check_together(const HeadsTensor& q, const HeadsTensor& k) {
  // Batch and tokens.
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
