#include <algorithm>
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
  explicit Judge(const Plan& plan) : plan_(plan) {}

  void look(const NamedShape& tensor) {
    const std::optional<Role> role = role_of(tensor.name);
    if (!role) return;
    const Stack* stack = stack_for(*role);
    if (stack == nullptr || !stack->known) return;  // nothing is claimed of what is not known
    if (role->layer) {
      look_at_layer(tensor, *role, *stack);
    } else {
      look_at_stack(tensor, *role, *stack);
    }
  }

  void look_for_absent() {
    for (const auto& [place, roles] : roles_) {
      const LayerPlan& layer = *place.second;
      // Named again: Clang before 16 cannot take a structured binding into a lambda.
      const auto has = [&roles = roles](TensorRole role) { return roles.contains(role); };
      if (!has(TensorRole::queries) || !has(TensorRole::keys)) continue;
      if (layer.sinks && !has(TensorRole::sinks)) absent("sinks", "sinks", place.first, layer);
      const bool weighted = layer.qk_norm && layer.qk_norm->weighted && !layer.kv_from;
      if (weighted && !has(TensorRole::key_norm) && any_norms_ > 0) {
        absent("a norm of keys", "a norm of q and k with weights", place.first, layer);
      }
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
  using LayerPlace = std::pair<std::string, const LayerPlan*>;
  struct Found {
    std::string fact;
    std::string message;
    std::string key;
    std::int64_t more = 0;
  };

  const Stack* stack_for(const Role& role) const {
    const Stack* found = nullptr;
    for (const Stack& stack : plan_.stacks) {
      if (role.stack.empty() || stack.name != role.stack) continue;
      if (found != nullptr) return nullptr;
      found = &stack;
    }
    if (found != nullptr) return found;
    const bool is_tower = role.stack == "vision" || role.stack == "audio";
    return is_tower || plan_.stacks.empty() ? nullptr : &plan_.stacks.front();
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
      return one.index == *role.layer && one.kind == LayerKind::attention;
    });
    if (role.role == TensorRole::query_norm || role.role == TensorRole::key_norm) ++any_norms_;
    if (layer == stack.layers.end() || layer->heads == 0 || layer->head_dim == 0) return;
    const LayerPlace place{stack.name, &*layer};
    roles_[place].insert(role.role);
    const Shape& shape = tensor.shape;
    const std::string id = stack.name;
    switch (role.role) {
      case TensorRole::queries:
        return look_at_rows(tensor, *layer, id + " queries", layer->heads, layer->head_dim, true);
      case TensorRole::keys: return look_at_rows(tensor, *layer, id + " keys", layer->kv_heads, layer->head_dim, false);
      case TensorRole::values:
        return look_at_rows(tensor, *layer, id + " values", layer->kv_heads, layer->value_dim, false);
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
      case TensorRole::table:
      case TensorRole::bias_table:
      case TensorRole::factors: break;
    }
  }

  // Twice as many rows are queries and a gate for each of their channels (Qwen 3 Next): the output's columns tell.
  void look_at_rows(const NamedShape& tensor, const LayerPlan& layer, const std::string& fact, std::int64_t heads,
                    std::int64_t channels, bool may_have_gate) {
    const std::int64_t rows = heads * channels;
    if (tensor.shape.size() != 2 || layer.kind != LayerKind::attention) return;
    if (tensor.shape[0] == rows || (may_have_gate && tensor.shape[0] == 2 * rows)) return;
    add({fact, formatted("{} heads of {} channels", heads, channels)}, tensor, formatted("{} rows", rows));
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
    switch (role.role) {
      case TensorRole::table: return look_at_table(tensor, stack);
      case TensorRole::bias_table: return look_at_biases(tensor, stack);
      case TensorRole::factors: return look_at_factors(tensor, stack);
      default: return;
    }
  }

  void look_at_table(const NamedShape& tensor, const Stack& stack) {
    const std::string fact = stack.name + " table";
    bool is_claimed = false;
    for (const InputScheme& input : stack.input) {
      if (std::holds_alternative<SinusoidalInput>(input) || std::holds_alternative<AxialInput>(input)) return;
      const auto* table = std::get_if<LearnedInput>(&input);
      if (table == nullptr) continue;
      is_claimed = true;
      if (table->positions == 0 || tensor.shape.empty() || tensor.shape[0] == table->positions) return;
    }
    if (is_claimed) return add({fact, "the rows of the learned table"}, tensor, "another number of rows");
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

  const Plan& plan_;
  std::vector<Found> found_;
  std::map<LayerPlace, std::set<TensorRole>> roles_;
  std::int64_t any_norms_ = 0;
};

}  // namespace

std::vector<Warning> judge_shapes(const Plan& plan, std::span<const NamedShape> tensors) {
  Judge judge(plan);
  for (const NamedShape& tensor : tensors) judge.look(tensor);
  judge.look_for_absent();
  return judge.take();
}

}  // namespace posenc::plan
