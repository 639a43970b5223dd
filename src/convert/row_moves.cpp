#include "convert/row_moves.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "convert/scaled_rows.h"
#include "convert/tensor_names.h"
#include "posenc/error.h"

namespace posenc::conversion {
namespace {

constexpr std::size_t kMostNotes = 64;

std::string shape_words(const TensorEntry& entry) { return formatted("[{}]", joined(entry.shape, ", ")); }

std::int64_t elements_of(const TensorEntry& entry) {
  return std::accumulate(entry.shape.begin(), entry.shape.end(), std::int64_t{1}, std::multiplies<>());
}

// A module while its tensors are gathered.
struct Attention {
  const RotatingLayer* rotating = nullptr;
  std::int64_t layer = 0;
  std::size_t first = 0;  // one of its entries, for errors
  bool has_queries = false;
  bool has_keys = false;
  bool has_latent = false;
  bool has_values = false;
  bool has_norms = false;
  std::vector<std::pair<std::size_t, TensorName>> tensors;
};

class MoveFinder {
 public:
  MoveFinder(const Checkpoint& checkpoint, const Plan& plan, const StackRotations& rotations,
             const MoveOptions& options)
      : file_(*checkpoint.file), plan_(plan), rotations_(rotations), options_(options) {
    for (const LayerPlan& layer : rotations.stack->layers) planned_.insert(layer.index);
  }

  Result<RowMoves> find() {
    for (std::size_t i = 0; i < tensors().size() && !error_; ++i) gather(i);
    for (auto& [module, attention] : attentions_) {
      if (error_) break;
      add_attention(module, attention);
    }
    if (!error_) check_layers();
    if (error_) return *std::move(error_);
    out_.notes.assign(notes_.begin(), notes_.end());
    return std::move(out_);
  }

 private:
  const std::vector<TensorEntry>& tensors() const { return file_.list.tensors; }

  void fail(ErrorKind kind, std::size_t entry, std::string expected, std::string got, std::string detail = {}) {
    if (error_) return;
    error_ = file_.error(kind, tensors()[entry], std::move(expected), std::move(got), std::move(detail));
  }
  void note(std::string text) {
    if (notes_.size() < kMostNotes) notes_.insert(std::move(text));
  }

  const Stack* stack_for(const TensorName& name) const {
    const Stack* found = nullptr;
    for (const Stack& stack : plan_.stacks) {
      if (name.stack.empty() || stack.name != name.stack) continue;
      if (found != nullptr) return nullptr;
      found = &stack;
    }
    if (found != nullptr) return found;
    return name.stack == "vision" || name.stack == "audio" ? nullptr : &plan_.stacks.front();
  }

  // The weight that a scale is beside; null where there is none.
  const TensorEntry* weight_beside(const Attention& attention, const TensorName& name) const {
    for (const auto& [entry, other] : attention.tensors) {
      const bool weight = other.ending == "weight" || other.ending == "base_layer.weight";
      if (weight && other.component == name.component) return &tensors()[entry];
    }
    return nullptr;
  }

  // The rotation of the layer that a name says; null where it has none, or has it as it shall be.
  const RotatingLayer* rotating(const TensorName& name) {
    if (!name.draft && planned_.contains(name.layer)) {
      const auto found = rotations_.layers.find(name.layer);
      return found == rotations_.layers.end() ? nullptr : &found->second;
    }
    note(
        formatted("Layer {} of {} is not among the plan's, which predict the next token: it is taken to rotate as the "
                  "last of them.",
                  name.layer, name.draft ? "mtp" : std::string(name.layers)));
    return &rotations_.layers.rbegin()->second;
  }

  void gather(std::size_t i) {
    const std::optional<TensorName> name = parse_tensor_name(tensors()[i].name);
    if (!name || stack_for(*name) != rotations_.stack) return;
    if (name->kind == Component::unaffected) return;
    const RotatingLayer* layer = rotating(*name);
    if (layer == nullptr) return;
    if (!name->draft && layers_.empty()) layers_ = name->layers;
    if (!name->draft && name->layers != layers_) {
      return fail(ErrorKind::bad_tensor, i, formatted("layers of one stack, {}N", layers_),
                  formatted("{}N besides", name->layers), "which of them the plan describes is not known here");
    }
    if (name->kind == Component::unknown) {
      if (elements_of(tensors()[i]) == 1) return;  // a scale of the KV cache
      return fail(ErrorKind::bad_tensor, i, "a projection or a norm that is known here",
                  formatted("{}", name->component),
                  "by its name it has to do with queries or keys, and whether its rows must move is not known");
    }
    Attention& attention = attentions_[std::string(name->module)];
    if (attention.tensors.empty()) {
      attention.rotating = layer;
      attention.layer = name->layer;
      attention.first = i;
    }
    out_.adapter |= is_lora_b(name->ending);
    attention.tensors.emplace_back(i, *name);
    switch (name->kind) {
      case Component::queries: attention.has_queries = true; break;
      case Component::keys: attention.has_keys = true; break;
      case Component::latent_keys: attention.has_latent = true; break;
      case Component::values: attention.has_values = true; break;
      case Component::fused: attention.has_queries = attention.has_keys = attention.has_values = true; break;
      case Component::query_norm:
      case Component::key_norm: attention.has_norms = true; break;
      case Component::unaffected:
      case Component::unknown: break;
    }
  }

  HeadSizes sizes_of(const Attention& attention) const {
    const LayerPlan& layer = *attention.rotating->layer;
    const Rope& rope = *attention.rotating->rope;
    HeadSizes sizes{.heads = layer.heads,
                    .kv_heads = layer.kv_heads,
                    .head_dim = layer.head_dim,
                    .value_dim = layer.value_dim,
                    .rows = options_.padded_head_dim.value_or(layer.head_dim),
                    .first_channel = rope.first_channel,
                    .dim = rope.dim};
    if (sizes.rows < sizes.head_dim) {
      throw Error("convert", {"padded_head_dim", formatted("be at least head_dim, {},", sizes.head_dim),
                              formatted("{}", sizes.rows)});
    }
    return sizes;
  }

  void add_attention(const std::string& module, const Attention& attention) {
    const HeadSizes sizes = sizes_of(attention);
    const std::size_t before = out_.moves.size();
    if (!out_.adapter) check_whole(attention);
    if (out_.adapter && may_share_keys_as_values(plan_)) {
      return fail(ErrorKind::bad_tensor, attention.first, "a model whose layers have values of their own",
                  formatted("an adapter for {}", plan_.family), "some of its layers' keys are their values too");
    }
    for (const auto& [entry, name] : attention.tensors) {
      if (error_) return;
      add_tensor(entry, name, attention, sizes);
    }
    if (error_ || out_.moves.size() == before) return;
    AttentionMoves of{module, {}};
    for (std::size_t i = before; i < out_.moves.size(); ++i) of.moves.push_back(i);
    out_.attentions.push_back(std::move(of));
    seen_.push_back(attention.layer);
  }

  // A model's own tensors, all of them there.
  void check_whole(const Attention& attention) {
    const LayerPlan& layer = *attention.rotating->layer;
    const std::string of = formatted("layer {}", attention.layer);
    if (!attention.has_queries) {
      return fail(ErrorKind::missing_key, attention.first, formatted("a projection to queries in {}", of), "none");
    }
    if (!attention.has_keys && !attention.has_latent && !layer.kv_from) {
      return fail(ErrorKind::missing_key, attention.first, formatted("a projection to keys in {}", of), "none");
    }
    if (attention.has_keys && !attention.has_values) {
      return fail(ErrorKind::missing_key, attention.first, formatted("a projection to values in {}", of), "none",
                  "its keys are its values too: columns of the output projection would have to move");
    }
    const bool weighted = layer.qk_norm && layer.qk_norm->weighted;
    if (weighted && !attention.has_latent && !attention.has_norms) {
      return fail(ErrorKind::missing_key, attention.first, formatted("weights of the QK norm in {}", of), "none",
                  "the plan has a norm with weights");
    }
  }

  void add_tensor(std::size_t entry, const TensorName& name, const Attention& attention, const HeadSizes& sizes) {
    switch (name.kind) {
      case Component::queries: {
        const bool gated = may_have_gates(plan_) && !options_.padded_head_dim;
        return add_projection(entry, name, attention, ConvertedPart::queries, query_rows(sizes),
                              gated ? std::optional(gated_query_rows(sizes)) : std::nullopt, sizes);
      }
      case Component::keys:
        return add_projection(entry, name, attention, ConvertedPart::keys, key_rows(sizes), {}, sizes);
      case Component::latent_keys: return add_latent(entry, name, attention, sizes);
      case Component::fused: {
        const std::optional<FusedOrder> order = fused_order(plan_, rotations_.stack->name, sizes);
        if (!order || options_.padded_head_dim) {
          return fail(ErrorKind::bad_tensor, entry,
                      order ? "heads without padding in a fused projection" : "a fused projection of a known order",
                      formatted("{} of {}", name.component, plan_.family.empty() ? plan_.model_type : plan_.family),
                      order ? "" : "in which order it has queries, keys and values is not known here");
        }
        return add_projection(entry, name, attention, ConvertedPart::queries_and_keys, fused_rows(sizes, *order), {},
                              sizes);
      }
      case Component::query_norm: return add_norm(entry, name, attention, sizes, false);
      case Component::key_norm: return add_norm(entry, name, attention, sizes, true);
      case Component::values:
      case Component::unaffected:
      case Component::unknown: return;
    }
  }

  // What a tensor beside a projection's weight may be, before its rows are looked at. False: nothing moves, or an
  // error.
  std::optional<EndingMeaning> moving(std::size_t entry, const TensorName& name) {
    const TensorEntry& tensor = tensors()[entry];
    const EndingMeaning meaning = meaning_of(name.ending);
    switch (meaning.use) {
      case EndingUse::stays: return {};
      case EndingUse::packed:
        fail(ErrorKind::bad_type, entry, "rows that can be moved whole",
             formatted("{} {}", tensor.type_name, name.ending), std::string(meaning.reason));
        return {};
      case EndingUse::unknown:
        if (elements_of(tensor) == 1) return {};  // one number for all rows
        fail(ErrorKind::bad_tensor, entry, "weight, bias, a scale, or LoRA's A and B",
             formatted("{}", name.ending.empty() ? "no ending" : name.ending),
             "whether its rows must move is not known here");
        return {};
      case EndingUse::scales:
        if (elements_of(tensor) == 1) return {};
        return meaning;
      case EndingUse::rows: return meaning;
    }
    return {};
  }

  static bool has_rows(const TensorEntry& tensor, std::int64_t rows) {
    return !tensor.shape.empty() && tensor.shape.front() == rows;
  }

  void add_projection(std::size_t entry, const TensorName& name, const Attention& attention, ConvertedPart part,
                      ProjectionRows rows, std::optional<ProjectionRows> gated, const HeadSizes& sizes) {
    const std::optional<EndingMeaning> meaning = moving(entry, name);
    if (!meaning) return;
    const TensorEntry& tensor = tensors()[entry];
    if (meaning->use == EndingUse::scales && !has_rows(tensor, rows.rows) &&
        !(gated && has_rows(tensor, gated->rows))) {
      const TensorEntry* const weight = weight_beside(attention, name);
      const bool has_gates = gated && weight != nullptr && has_rows(*weight, gated->rows);
      return check_block_scales(entry, has_gates ? *gated : rows);
    }
    if (gated && has_rows(tensor, gated->rows)) rows = *std::move(gated);
    if (!has_rows(tensor, rows.rows)) return fail_rows(entry, rows, sizes);
    add_move(entry, part, *meaning, name.layer, std::move(rows));
  }

  // The last `dim` rows, behind those of the latent.
  void add_latent(std::size_t entry, const TensorName& name, const Attention& attention, const HeadSizes& sizes) {
    const std::optional<EndingMeaning> meaning = moving(entry, name);
    if (!meaning) return;
    const TensorEntry& tensor = tensors()[entry];
    // The plan does not say how wide the latent is: the weight does, or LoRA's B.
    const TensorEntry* const wide = meaning->use == EndingUse::scales ? weight_beside(attention, name) : &tensor;
    const std::int64_t rows = wide == nullptr || wide->shape.empty() ? 0 : wide->shape.front();
    if (rows <= sizes.dim) {
      return fail(ErrorKind::bad_tensor, entry, formatted("more than the {} rows that rotate", sizes.dim),
                  shape_words(tensor));
    }
    HeadRows heads{.keys = true, .starts = {0}, .channels = rows, .first_channel = rows - sizes.dim, .dim = sizes.dim};
    const ProjectionRows shared{rows, {heads}};
    if (meaning->use == EndingUse::scales && !has_rows(tensor, rows)) return check_block_scales(entry, shared);
    if (!has_rows(tensor, rows))
      return fail(ErrorKind::bad_tensor, entry, formatted("{} rows", rows), shape_words(tensor));
    add_move(entry, ConvertedPart::latent_keys, *meaning, name.layer, shared);
  }

  // Scales of blocks of rows stay where they are, if no row leaves its block.
  void check_block_scales(std::size_t entry, const ProjectionRows& rows) {
    const TensorEntry& tensor = tensors()[entry];
    const std::int64_t scales = tensor.shape.empty() ? 0 : tensor.shape.front();
    const std::int64_t block = rows_of_block(rows.rows, scales);
    if (block == 0) {
      return fail(ErrorKind::bad_tensor, entry,
                  formatted("a scale for each of {} rows, or for blocks of 128", rows.rows), shape_words(tensor));
    }
    for (const HeadRows& heads : rows.heads) {
      if (stays_in_blocks(heads, block)) continue;
      return fail(ErrorKind::bad_tensor, entry, "rows that change places under one scale",
                  formatted("blocks of {} rows, and {} channels that rotate from channel {} of each head on", block,
                            heads.dim, heads.first_channel),
                  "rows would come under another scale: convert the model that was quantised");
    }
  }

  void add_norm(std::size_t entry, const TensorName& name, const Attention& attention, const HeadSizes& sizes,
                bool keys) {
    const TensorEntry& tensor = tensors()[entry];
    const std::optional<QkNorm>& norm = attention.rotating->layer->qk_norm;
    if (attention.has_latent) {
      // DeepSeek's own q_norm: of the latent, before the heads are made.
      if (!norm || !norm->weighted) return;
      return fail(ErrorKind::bad_tensor, entry, "no QK norm in a latent attention", shape_words(tensor),
                  "which of its weights are for channels that rotate is not known here");
    }
    const bool bias = name.ending == "bias" || name.ending.ends_with(".bias");
    const bool weight =
        name.ending == "weight" || (name.ending.starts_with("norms.") && name.ending.ends_with(".weight"));
    if (!bias && !weight) {
      return fail(ErrorKind::bad_tensor, entry, "weight or bias of a norm", std::string(name.ending));
    }
    const std::int64_t elements = elements_of(tensor);
    const std::int64_t across = (keys ? sizes.kv_heads : sizes.heads) * sizes.rows;
    ProjectionRows rows = keys ? key_rows(sizes) : query_rows(sizes);
    if (elements == sizes.rows && elements != across) rows = shared_rows(sizes, keys);
    if (elements != rows.rows) {
      return fail(ErrorKind::bad_tensor, entry,
                  formatted("{} or {} numbers, of one head or of all", sizes.rows, across), shape_words(tensor));
    }
    add_move(entry, keys ? ConvertedPart::key_norm : ConvertedPart::query_norm, {EndingUse::rows, !bias, {}},
             name.layer, std::move(rows));
  }

  void fail_rows(std::size_t entry, const ProjectionRows& rows, const HeadSizes& sizes) {
    const TensorEntry& tensor = tensors()[entry];
    const std::int64_t count = rows.heads.front().keys ? sizes.kv_heads : sizes.heads;
    const std::int64_t have = tensor.shape.empty() ? 0 : tensor.shape.front();
    std::string detail;
    if (rows.heads.size() == 1 && count > 0 && have > rows.rows && have % count == 0) {
      detail = formatted("heads of {} rows would fit: if they are padded with zeros, say so by padded_head_dim",
                         have / count);
    }
    fail(ErrorKind::bad_tensor, entry, formatted("{} rows, {} heads of {}", rows.rows, count, sizes.rows),
         shape_words(tensor), std::move(detail));
  }

  void add_move(std::size_t entry, ConvertedPart part, const EndingMeaning& meaning, std::int64_t layer,
                ProjectionRows rows) {
    const TensorEntry& tensor = tensors()[entry];
    if (tensor.bytes <= 0 || tensor.bytes % rows.rows != 0) {
      const bool known = tensor.bytes >= 0;
      return fail(ErrorKind::bad_type, entry, "rows of whole bytes",
                  known ? formatted("{} bytes in {} rows", tensor.bytes, rows.rows) : tensor.type_name,
                  known ? "" : "a type whose size is not known here");
    }
    out_.moves.push_back({.entry = entry,
                          .part = part,
                          .use = meaning.multiplies ? RowUse::multiplies : RowUse::adds,
                          .layer = layer,
                          .row_bytes = tensor.bytes / rows.rows,
                          .heads = std::move(rows.heads)});
  }

  void check_layers() {
    if (out_.moves.empty()) {
      error_.emplace();
      error_->kind = ErrorKind::missing_key;
      error_->file = file_.name;
      error_->expected = formatted("projections to queries and keys of the stack {}", rotations_.stack->name);
      error_->got = "none whose name is known here";
      return;
    }
    if (out_.adapter) return;
    std::ranges::sort(seen_);
    for (const auto& [index, layer] : rotations_.layers) {
      if (std::ranges::binary_search(seen_, index)) continue;
      error_.emplace();
      error_->kind = ErrorKind::missing_key;
      error_->file = file_.name;
      error_->expected = formatted("projections to queries and keys in layer {}, which rotates", index);
      error_->got = "none";
      error_->detail = "of a model in several files, give the index or the folder";
      return;
    }
  }

  const io::OpenTensorFile& file_;
  const Plan& plan_;
  const StackRotations& rotations_;
  const MoveOptions& options_;
  std::set<std::int64_t> planned_;  // layers that the plan has
  std::string_view layers_;         // "model.layers."
  std::map<std::string, Attention, std::less<>> attentions_;
  std::vector<std::int64_t> seen_;
  std::set<std::string> notes_;
  RowMoves out_;
  std::optional<FileError> error_;
};

}  // namespace

Result<RowMoves> find_row_moves(const Checkpoint& checkpoint, const Plan& plan, const StackRotations& rotations,
                                const MoveOptions& options) {
  return MoveFinder(checkpoint, plan, rotations, options).find();
}

}  // namespace posenc::conversion
