#include "diagnose/diagnosed_tensors.h"

#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// The last axis as two: heads, and channels of each.
ConstTensorView split(const ConstTensorView& view, std::int64_t heads) {
  ConstTensorView out = view;
  const auto last = static_cast<std::size_t>(view.rank - 1);
  const std::int64_t channels = view.shape[last] / heads;
  out.rank = view.rank + 1;
  out.shape[last] = heads;
  out.strides[last] = view.strides[last] * channels;
  out.shape[last + 1] = channels;
  out.strides[last + 1] = view.strides[last];
  return out;
}

// How many heads a last axis of that width holds by the model: all of the layer's, or its KV heads.
std::optional<std::int64_t> joined_heads(std::int64_t width, const LayerChoice* choice) {
  if (choice == nullptr) return {};
  const std::int64_t channels = rope(*choice->rotate).head_dim;
  for (const std::int64_t heads : {choice->layer->heads, choice->layer->kv_heads, choice->rotate->heads}) {
    if (heads > 0 && channels > 0 && width % channels == 0 && width / channels == heads) return heads;
  }
  return {};
}

bool fits(const ConstTensorView& heads, const LayerChoice& choice) {
  const std::int64_t count = heads.shape[1];
  return count == choice.layer->heads || count == choice.layer->kv_heads || count == choice.rotate->heads;
}

ConstTensorView exchanged(const ConstTensorView& view) {
  return view.rank == 3 ? transposed(view, 0, 1) : transposed(view, 1, 2);
}

}  // namespace

DiagnosedTensor read_diagnosed(const TensorWord& word, const DiagnoseArguments& arguments, const LayerChoice* choice) {
  DiagnosedTensor out{.source = read_tensor_argument(word)};
  if (!dtype_of(out.source.data.type())) {
    const bool raw = out.source.data.type() == ElementType::u16 && out.source.name.empty();
    refuse(word, out.source,
           formatted("expected f32, f16, bf16 or f64, got {}{}", name(out.source.data.type()),
                     raw ? "; if these are bf16, give --bf16" : ""));
  }
  const std::vector<std::int64_t> shape(out.source.data.shape().begin(), out.source.data.shape().end());
  const bool joins = shape.size() == 2 || shape.size() == 3;
  const std::optional<std::int64_t> given = arguments.heads;
  std::optional<std::int64_t> heads = given;
  const bool is_whole_head = choice != nullptr && !shape.empty() && shape.back() == rope(*choice->rotate).head_dim;
  if (!heads && joins && !arguments.layout && !(shape.size() == 3 && is_whole_head)) {
    heads = joined_heads(shape.back(), choice);
  }
  if (heads) {
    if (!joins || shape.back() % *heads != 0) {
      refuse(word, out.source,
             formatted("expected [tokens, {0} * head_dim] or [batch, tokens, {0} * head_dim] (--heads), got {1}",
                       *heads, shape_text(shape)));
    }
    const ConstTensorView all = split(out.source.data.view(), *heads);
    out.heads = all.rank == 3 ? all : exchanged(all);
    return out;
  }
  if (shape.size() != 3 && shape.size() != 4) {
    refuse(word, out.source,
           formatted("expected 3 axes, [tokens, heads, head_dim], 4, [batch, heads, tokens, head_dim], or --heads, got "
                     "{}",
                     shape_text(shape)));
  }
  const ConstTensorView stored = out.source.data.view();
  if (arguments.layout) {
    const std::size_t rank = *arguments.layout == TensorLayout::thd || *arguments.layout == TensorLayout::htd ? 3 : 4;
    if (rank != shape.size()) {
      refuse(word, out.source, formatted("expected {} axes (--layout), got {}", rank, shape_text(shape)));
    }
    const bool as_stored = *arguments.layout == TensorLayout::thd || *arguments.layout == TensorLayout::bhtd;
    out.heads = as_stored ? stored : exchanged(stored);
    return out;
  }
  out.heads = stored;
  out.exchanged = exchanged(stored);
  if (choice == nullptr || fits(out.heads, *choice) == fits(out.exchanged, *choice)) return out;
  if (!fits(out.heads, *choice)) out.heads = out.exchanged;
  out.exchanged = {};
  return out;
}

}  // namespace posenc::tool
