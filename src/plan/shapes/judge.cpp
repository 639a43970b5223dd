#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "plan/shapes/shapes.h"

namespace posenc::plan {
namespace {

using Shape = std::vector<std::int64_t>;

struct Seen {
  const NamedShape* tensor;
  Role role;
};

std::string text_of(const Shape& shape) { return formatted("[{}]", joined(shape, ", ")); }

// "rotates" or "heads x head_dim = 32 x 128 = 4096", as the plan has it.
struct Claim {
  std::string fact;  // what contradictions are merged by
  std::string words;
};

class Judge {
 public:
  Judge(const Plan& plan, std::span<const NamedShape> tensors) : plan_(plan) {
    for (const NamedShape& tensor : tensors) {
      const std::optional<Role> role = role_of(tensor.name);
      if (role && role->layer && role->stack.empty() && !role->crosses)
        lists_[numbered(tensor.name)->before].insert(*role->layer);
    }
    if (plan.stacks.empty()) return;
    for (const LayerPlan& layer : plan.stacks.front().layers) {
      if (layer.kind == LayerKind::attention) attending_.insert(layer.index);
    }
  }

  void look(const NamedShape& tensor) {
    const std::optional<Role> role = role_of(tensor.name);
    if (!role || !tensor.is_plain) return void(others_.insert(tensor.name));
    const Stack* stack = is_of_another_list(tensor.name, *role) ? nullptr : stack_for(plan_, *role);
    if (stack == nullptr || !stack->known) return;  // nothing is claimed of what is not known
    if (role->layer) {
      look_at_layer(tensor, *role, *stack);
    } else {
      look_at_stack(tensor, *role, *stack);
    }
  }

  // What needs more than one tensor.
  void conclude() {
    for (const auto& [place, attention] : attentions_) {
      const LayerPlan& layer = *place.second;
      look_at_latents(place.first, layer, attention);
      look_for_absent(place.first, layer, attention);
    }
    for (const Stack& stack : plan_.stacks) look_for_absent(stack);
    for (const auto& [table, stack] : tables_) look_at_width(*table, *stack);
    for (const auto& [table, stack] : odd_tables_) {
      // Another table than the plan's, where that one is there (Decision Transformer's GPT-2 has one of its own).
      if (std::ranges::find(tables_, stack, [](const auto& one) { return one.second; }) != tables_.end()) continue;
      add({stack->name + " table", "the rows of the learned table"}, *table, "another number of rows");
    }
  }

  std::vector<Warning> take() {
    std::vector<Warning> warnings;
    for (Found& one : found_) {
      std::string message = std::move(one.message);
      if (one.more > 0) message += formatted(" So are {} more.", one.more);
      warnings.push_back({"shape-mismatch", std::move(message), {std::move(one.key)}});
    }
    return warnings;
  }

 private:
  using LayerPlace = std::pair<std::string, const LayerPlan*>;  // of the stack of that name
  struct Attention {
    std::map<TensorRole, const NamedShape*> tensors;
    std::string_view module;
  };
  struct Found {
    std::string fact;
    std::string message;
    std::string key;
    std::int64_t more = 0;
  };

  // Of several lists of layers whose names do not say the stack (a draft's, a mask decoder's) those that count other
  // layers than the first stack are passed over.
  bool is_of_another_list(const std::string& name, const Role& role) const {
    if (!role.layer || !role.stack.empty() || lists_.size() < 2 || plan_.stacks.empty()) return false;
    const auto list = lists_.find(numbered(name)->before);
    return list == lists_.end() || list->second != attending_;
  }

  void add(const Claim& claim, const NamedShape& tensor, const std::string& expected) {
    const auto known = std::ranges::find(found_, claim.fact, &Found::fact);
    if (known != found_.end()) {
      ++known->more;
      return;
    }
    found_.push_back(
        {claim.fact,
         formatted("{} is {}, where the plan has {}: {}.", tensor.name, text_of(tensor.shape), expected, claim.words),
         tensor.name});
  }

  void absent(std::string_view what, std::string_view claim, const std::string& stack, const LayerPlan& layer) {
    const std::string fact = formatted("{} no {}", stack, what);
    if (std::ranges::find(found_, fact, &Found::fact) != found_.end()) return;
    found_.push_back({fact,
                      formatted("There is no tensor of {} in layer {} of the {}, where the plan has {}.", what,
                                layer.index, stack, claim),
                      {}});
  }

  void look_at_layer(const NamedShape& tensor, const Role& role, const Stack& stack) {
    const auto layer = std::ranges::find_if(stack.layers, [&](const LayerPlan& one) {
      return one.index == *role.layer && one.kind == (role.crosses ? LayerKind::cross_attention : LayerKind::attention);
    });
    if (layer == stack.layers.end() || layer->heads == 0 || layer->head_dim == 0) return;
    Attention& attention = attentions_[{stack.name, &*layer}];
    attention.tensors[role.role] = &tensor;
    attention.module = role.module;
    const Shape& shape = tensor.shape;
    const std::string id = stack.name + (role.crosses ? " cross" : "");
    switch (role.role) {
      case TensorRole::queries: return look_at_rows(tensor, id + " queries", layer->heads, layer->head_dim, true);
      case TensorRole::keys: return look_at_rows(tensor, id + " keys", layer->kv_heads, layer->head_dim, false);
      case TensorRole::values: return look_at_rows(tensor, id + " values", layer->kv_heads, layer->value_dim, false);
      case TensorRole::output: {
        const std::int64_t columns = layer->heads * layer->value_dim;
        if (shape.size() != 2 || shape[1] == columns) return;
        return add({id + " output", formatted("{} heads of {} channels", layer->heads, layer->value_dim)}, tensor,
                   formatted("{} columns", columns));
      }
      case TensorRole::query_norm: return look_at_norm(tensor, *layer, id + " norm of queries", layer->heads);
      case TensorRole::key_norm: return look_at_norm(tensor, *layer, id + " norm of keys", layer->kv_heads);
      case TensorRole::sinks:
        if (!layer->sinks) return add({id + " sinks", "the layer has none"}, tensor, "no sinks");
        if (shape == Shape{layer->heads}) return;
        return add({id + " sinks", "a number for each head"}, tensor, formatted("{} sinks", layer->heads));
      case TensorRole::fused: return look_at_fused(tensor, *layer, id + " queries, keys and values");
      case TensorRole::latent_queries:
        return look_at_rows(tensor, id + " queries", layer->heads, layer->head_dim, false);
      case TensorRole::latent:  // compared with each other
      case TensorRole::latent_norm:
      case TensorRole::latent_up:
      case TensorRole::table:
      case TensorRole::bias_table:
      case TensorRole::factors:
      case TensorRole::words: break;
    }
  }

  // Some families project queries and a gate for each of their channels at once, as do those that have such a model's
  // linear layers beside. Elsewhere twice as many rows are a contradiction.
  bool has_gates() const {
    for (const Stack& stack : plan_.stacks) {
      if (std::ranges::find(stack.layers, LayerKind::linear_attention, &LayerPlan::kind) != stack.layers.end())
        return true;
    }
    constexpr std::string_view kGated[] = {"qwen3_next", "qwen3_5", "qwen4_exp", "qwen3next", "qwen35"};
    return std::ranges::any_of(kGated, [&](std::string_view name) {
      return plan_.family.starts_with(name) || plan_.model_type.starts_with(name);
    });
  }

  void look_at_rows(const NamedShape& tensor, const std::string& fact, std::int64_t heads, std::int64_t channels,
                    bool may_have_gate) {
    const std::int64_t rows = heads * channels;
    if (tensor.shape.size() != 2) return;
    if (tensor.shape[0] == rows || (may_have_gate && has_gates() && tensor.shape[0] == 2 * rows)) {
      return;
    }
    add({fact, formatted("{} heads of {} channels", heads, channels)}, tensor, formatted("{} rows", rows));
  }

  void look_at_fused(const NamedShape& tensor, const LayerPlan& layer, const std::string& fact) {
    const std::int64_t rows = layer.heads * layer.head_dim + layer.kv_heads * (layer.head_dim + layer.value_dim);
    const Shape& shape = tensor.shape;
    if (layer.kv_from || shape.size() != 2 || shape[0] == rows || shape[1] == rows) return;
    const std::string values = layer.value_dim == layer.head_dim ? "" : formatted(", of values {}", layer.value_dim);
    add({fact, formatted("{} heads and 2 x {} KV heads of {} channels{}", layer.heads, layer.kv_heads, layer.head_dim,
                         values)},
        tensor, formatted("{} rows", rows));
  }

  // MLA: the plan has no latent channels, but the tensors have to agree about them, and with what rotates.
  void look_at_latents(const std::string& stack, const LayerPlan& layer, const Attention& attention) {
    const auto shape = [&](TensorRole role, std::size_t axes) -> const Shape* {
      const auto found = attention.tensors.find(role);
      return found == attention.tensors.end() || found->second->shape.size() != axes ? nullptr : &found->second->shape;
    };
    const Shape* down = shape(TensorRole::latent, 2);
    const Shape* norm = shape(TensorRole::latent_norm, 1);
    const Shape* up = shape(TensorRole::latent_up, 2);
    const auto main = std::ranges::find(layer.rotate, RotateRole::main, &Rotate::role);
    if (main == layer.rotate.end()) return;
    const std::int64_t rotated = rope(*main).dim;
    const std::int64_t rows = layer.heads * (layer.head_dim - rotated + layer.value_dim);
    if (up != nullptr && (*up)[0] != rows) {
      add({stack + " latent keys and values", formatted("{} heads of {} channels that do not rotate and {} of values",
                                                        layer.heads, layer.head_dim - rotated, layer.value_dim)},
          *attention.tensors.at(TensorRole::latent_up), formatted("{} rows", rows));
    }
    const std::int64_t latent = norm != nullptr ? (*norm)[0] : up != nullptr ? (*up)[1] : 0;
    if (norm != nullptr && up != nullptr && (*up)[1] != latent) {
      add({stack + " latent channels of values", "as many as the norm of the latents has weights"},
          *attention.tensors.at(TensorRole::latent_up), formatted("{} columns", latent));
    }
    if (down != nullptr && latent > 0 && (*down)[0] != latent + rotated) {
      add({stack + " latent channels", formatted("{} latent channels, and {} that rotate", latent, rotated)},
          *attention.tensors.at(TensorRole::latent), formatted("{} rows", latent + rotated));
    }
  }

  bool any_other(std::string_view begin, std::initializer_list<std::string_view> words) const {
    for (auto at = others_.lower_bound(begin); at != others_.end() && at->starts_with(begin); ++at) {
      const std::string_view rest = at->substr(begin.size());
      if (std::ranges::any_of(words, [&](std::string_view word) { return rest.find(word) != rest.npos; })) return true;
    }
    return false;
  }

  // Names differ: nothing is called absent where a tensor of an unknown name may be it.
  void look_for_absent(const std::string& stack, const LayerPlan& layer, const Attention& attention) {
    const auto has = [&](TensorRole role) { return attention.tensors.contains(role); };
    if (!has(TensorRole::fused) && !(has(TensorRole::queries) && has(TensorRole::keys))) return;
    if (layer.sinks && !has(TensorRole::sinks) && !any_other(attention.module, {"sink"})) {
      absent("sinks", "sinks", stack, layer);
    }
    if (!layer.qk_norm || !layer.qk_norm->weighted || any_other(attention.module, {"norm", "ln"})) return;
    // Or beside the module that projects (Zaya).
    std::string_view around = attention.module;
    around.remove_suffix(1);
    if (any_other(around.substr(0, around.rfind('.') + 1), {"qk_norm"})) return;
    const QkNorm& norm = *layer.qk_norm;
    constexpr std::string_view kNorm = "a norm of q and k with weights";
    if (!layer.kv_from && !has(TensorRole::key_norm)) absent("a norm of keys", kNorm, stack, layer);
    if (norm.of == QkNorm::Of::queries_and_keys && norm.weighted_queries && !has(TensorRole::query_norm)) {
      absent("a norm of queries", kNorm, stack, layer);
    }
  }

  void look_for_absent(const Stack& stack) {
    const auto seen = std::ranges::find(attentions_, stack.name, [](const auto& one) { return one.first.first; });
    if (!stack.known || seen == attentions_.end()) return;
    const auto absent_of_stack = [&](std::string_view what, std::string_view claim) {
      found_.push_back(
          {stack.name + " no " + std::string(what),
           formatted("There is no tensor of {} in the {}, where the plan has {}.", what, stack.name, claim),
           {}});
    };
    for (const LayerPlan& layer : stack.layers) {
      const auto is_t5 = [](const ScoreTerm& term) {
        const auto* t5 = std::get_if<T5Bias>(&term);
        return t5 != nullptr && !t5->gated;
      };
      if (std::ranges::none_of(layer.score, is_t5)) continue;
      if (!of_stacks_.contains({stack.name, TensorRole::bias_table}) && !any_other("", {"rel"})) {
        absent_of_stack("a table of biases by distance", "such biases");
      }
      break;
    }
    for (const InputScheme& input : stack.input) {
      const auto* table = std::get_if<LearnedInput>(&input);
      if (table == nullptr || !table->tokens.empty() || stack.name == "vision" || stack.name == "audio") continue;
      if (!of_stacks_.contains({stack.name, TensorRole::table}) && !any_other("", {"pos", "wpe"})) {
        absent_of_stack("a learned table of positions", "one");
      }
    }
  }

  void look_at_norm(const NamedShape& tensor, const LayerPlan& layer, const std::string& fact, std::int64_t heads) {
    if (!layer.qk_norm || !layer.qk_norm->weighted) {
      return add({fact, "the layer normalises without weights, or not at all"}, tensor, "no such weights");
    }
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) elements *= size;
    const std::int64_t across = heads * layer.head_dim;
    const bool over_heads = layer.qk_norm->over == QkNorm::Over::all_heads;
    // Cohere's norm of each head has weights of its own for each: [heads, head_dim].
    if (elements == (over_heads ? across : layer.head_dim) ||
        (!over_heads && tensor.shape.size() == 2 && elements == across))
      return;
    add({fact, over_heads ? "the norm is over all heads at once" : "the norm is over each head"}, tensor,
        formatted("{} weights", over_heads ? across : layer.head_dim));
  }

  void look_at_stack(const NamedShape& tensor, const Role& role, const Stack& stack) {
    of_stacks_[{stack.name, role.role}].push_back(&tensor);
    switch (role.role) {
      case TensorRole::table: return look_at_table(tensor, stack);
      case TensorRole::bias_table: return look_at_biases(tensor, stack);
      case TensorRole::factors: return look_at_factors(tensor, stack);
      default: return;
    }
  }

  // Whether so many channels rotate: a table as wide may be of the sines and cosines (RoFormer).
  static bool rotates(const Stack& stack, std::int64_t channels) {
    return std::ranges::any_of(stack.layers, [&](const LayerPlan& layer) {
      return std::ranges::any_of(layer.rotate, [&](const Rotate& one) { return rope(one).dim == channels; });
    });
  }

  void look_at_table(const NamedShape& tensor, const Stack& stack) {
    const std::string fact = stack.name + " table";
    bool is_claimed = false;
    for (const InputScheme& input : stack.input) {
      if (std::holds_alternative<SinusoidalInput>(input) || std::holds_alternative<AxialInput>(input)) return;
      const auto* table = std::get_if<LearnedInput>(&input);
      if (table == nullptr) continue;
      is_claimed = true;
      if (table->positions == 0 || tensor.shape.empty() || tensor.shape[0] == table->positions) {
        return tables_.push_back({&tensor, &stack});
      }
    }
    if (is_claimed) return odd_tables_.push_back({&tensor, &stack});
    if (tensor.shape.size() == 2 && rotates(stack, tensor.shape[1])) return;
    add({fact, "nothing is added to the embeddings"}, tensor, "no table");
  }

  void look_at_biases(const NamedShape& tensor, const Stack& stack) {
    const std::string fact = stack.name + " biases";
    for (const LayerPlan& layer : stack.layers) {
      for (const ScoreTerm& term : layer.score) {
        const auto* t5 = std::get_if<T5Bias>(&term);
        if (t5 == nullptr) continue;
        if (tensor.shape == Shape{t5->buckets, layer.heads}) return;
        return add({fact, formatted("{} buckets of {} heads", t5->buckets, layer.heads)}, tensor,
                   text_of({t5->buckets, layer.heads}));
      }
    }
    add({fact, "no term of the scores is by buckets"}, tensor, "no such table");
  }

  void look_at_factors(const NamedShape& tensor, const Stack& stack) {
    std::set<std::int64_t> pairs;
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) pairs.insert(rope(rotate).pairs());
    }
    if (tensor.shape.size() != 1 || pairs.contains(tensor.shape[0])) return;
    const std::string words = pairs.empty() ? "no layer rotates" : "a factor for each pair of channels that rotates";
    add({stack.name + " factors", words}, tensor,
        pairs.empty() ? "no factors" : formatted("{} factors", *pairs.begin()));
  }

  // Of a stack whose heads the file makes by cutting a width into them; 0 where it says heads' channels by themselves.
  std::int64_t planned_width(const Stack& stack) const {
    constexpr std::string_view kWidths[] = {"hidden_size", "n_embd", "d_model", "embed_dim", "hidden_dim", "dim"};
    const std::string begin = formatted("/stacks/{}/layers/", &stack - plan_.stacks.data());
    for (const ValueSource& source : plan_.sources) {
      if (!source.where.starts_with(begin) || !source.where.ends_with("/head_dim")) continue;
      const std::string key = source.from.substr(source.from.rfind('/') + 1);
      if (std::ranges::find(kWidths, key) == std::end(kWidths)) continue;
      for (const LayerPlan& layer : stack.layers) {
        if (layer.heads > 0) return layer.heads * layer.head_dim;
      }
    }
    return 0;
  }

  // A table's rows are added to embeddings of words, or to what comes into attention: it is as wide as one of them.
  void look_at_width(const NamedShape& table, const Stack& stack) {
    // A projection before the sum says that words are of another width (MobileBERT).
    if (table.shape.size() != 2 || any_other("", {"embedding_transformation"})) return;
    std::set<std::int64_t> widths;
    const auto words = of_stacks_.find({stack.name, TensorRole::words});
    if (words != of_stacks_.end()) {
      for (const NamedShape* of : words->second) widths.insert(of->shape.back());
    }
    for (const auto& [place, attention] : attentions_) {
      if (place.first != stack.name) continue;
      const auto into = attention.tensors.find(TensorRole::queries);
      if (into != attention.tensors.end()) widths.insert(into->second->shape.back());
      const auto fused = attention.tensors.find(TensorRole::fused);
      if (fused != attention.tensors.end()) widths.insert(fused->second->shape.begin(), fused->second->shape.end());
    }
    if (const std::int64_t width = planned_width(stack)) widths.insert(width);
    if (widths.empty() || widths.contains(table.shape[1])) return;
    add({stack.name + " width of the table", "as wide as the embeddings"}, table,
        formatted("{} columns", joined(widths, " or ")));
  }

  const Plan& plan_;
  std::map<std::string_view, std::set<std::int64_t>> lists_;  // numbers of layers, by what stands before them
  std::set<std::int64_t> attending_;                          // layers of the first stack
  std::vector<Found> found_;
  std::map<LayerPlace, Attention> attentions_;
  std::map<std::pair<std::string, TensorRole>, std::vector<const NamedShape*>> of_stacks_;
  std::vector<std::pair<const NamedShape*, const Stack*>> tables_;
  std::vector<std::pair<const NamedShape*, const Stack*>> odd_tables_;  // of other rows than the plan's
  std::set<std::string_view> others_;  // without a role, or packed
};

}  // namespace

std::vector<Warning> judge_shapes(const Plan& plan, std::span<const NamedShape> tensors) {
  Judge judge(plan, tensors);
  for (const NamedShape& tensor : tensors) judge.look(tensor);
  judge.conclude();
  return judge.take();
}

}  // namespace posenc::plan
