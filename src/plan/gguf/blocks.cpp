// How many blocks a GGUF file's tensors are of, by their names (blk.N), against how many it says: a contradiction is
// the warning `shape-mismatch`, as of shapes. Blocks of nextn_predict_layers, which no layer of the plan stands for,
// are among those that block_count counts.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "plan/gguf/read_gguf.h"
#include "plan/shapes/shapes.h"

namespace posenc::plan {
namespace {

struct BlockTensor {
  std::string_view name;
  std::string_view before;  // "blk.", "enc.blk.", "dec.blk."
  std::int64_t block = 0;
  bool attends = false;  // it projects queries, or what attention gives
};

std::optional<BlockTensor> block_tensor(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  const std::size_t at = name.find(kBlock);
  if (at != 0 && at != 4) return {};
  BlockTensor out{.name = name, .before = name.substr(0, at + kBlock.size())};
  const std::string_view rest = name.substr(out.before.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.block);
  if (error != std::errc{} || out.block < 0 || end == rest.data() + rest.size() || *end != '.') return {};
  const std::optional<Role> role = role_of(name);
  out.attends = role && (role->role == TensorRole::queries || role->role == TensorRole::output);
  return out;
}

std::string and_more(std::size_t count) { return count > 1 ? formatted(" So are {} more.", count - 1) : ""; }

class Blocks {
 public:
  Blocks(const GgufScope& scope, const Stack& stack, std::string_view before)
      : stack_(stack), before_(before), key_(scope.key("block_count")), count_(said(scope, "block_count")) {
    if (before != "dec.blk.") return;
    if (const auto own = said(scope, "decoder_block_count")) {
      count_ = own;
      key_ = scope.key("decoder_block_count");
    }
  }

  void look(const BlockTensor& tensor) {
    if (tensor.before != before_ || !count_) return;
    if (tensor.block >= *count_) {
      if (beyond_.empty()) first_beyond_ = tensor;
      beyond_.insert(tensor.block);
    }
    if (tensor.attends) attend_.insert(tensor.block);
  }

  void add_to(std::vector<Warning>& warnings) const {
    if (!beyond_.empty()) {
      warnings.push_back({"shape-mismatch",
                          formatted("{} is of block {}, where {} is {}: blocks from 0 to {}.{}", first_beyond_.name,
                                    first_beyond_.block, key_, *count_, *count_ - 1, and_more(beyond_.size())),
                          {std::string(first_beyond_.name), key_}});
    }
    if (attend_.empty()) return;  // or the names are not known here
    std::vector<std::int64_t> absent;
    for (const LayerPlan& layer : stack_.layers) {
      if (layer.kind == LayerKind::attention && !attend_.contains(layer.index)) absent.push_back(layer.index);
    }
    if (absent.empty()) return;
    warnings.push_back({"shape-mismatch",
                        formatted("There is no tensor of the attention of block {}, where {} is {}.{}", absent.front(),
                                  key_, *count_, and_more(absent.size())),
                        {key_}});
  }

 private:
  static std::optional<std::int64_t> said(const GgufScope& scope, std::string_view name) {
    const io::GgufValue* value = scope.peek(name);
    if (value == nullptr || value->numbers.size() != 1) return {};
    return value->numbers.front().integer;
  }

  const Stack& stack_;
  std::string_view before_;
  std::string key_;
  std::optional<std::int64_t> count_;
  BlockTensor first_beyond_;
  std::set<std::int64_t> beyond_;
  std::set<std::int64_t> attend_;
};

// The other parts of a model in several files have the tensors that this one lacks.
bool is_part(const io::GgufHeader& header) {
  const io::GgufValue* count = header.find("split.count");
  return count != nullptr && (count->numbers.size() != 1 || count->numbers.front().integer.value_or(2) > 1);
}

}  // namespace

std::vector<Warning> judge_blocks(const GgufScope& scope, const Plan& plan) {
  std::vector<Warning> warnings;
  if (is_part(scope.header())) return warnings;
  const bool is_t5 = scope.architecture().name.starts_with("t5");
  for (const Stack& stack : plan.stacks) {
    Blocks blocks(scope, stack, !is_t5 ? "blk." : stack.name == "decoder" ? "dec.blk." : "enc.blk.");
    for (const io::GgufTensor& tensor : scope.header().tensors) {
      if (const auto one = block_tensor(tensor.name)) blocks.look(*one);
    }
    blocks.add_to(warnings);
  }
  return warnings;
}

}  // namespace posenc::plan
