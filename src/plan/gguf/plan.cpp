// From a GGUF header to a Plan by the row of general.architecture; split files; warnings of keys that nobody read.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/assemble/plan_numbers.h"
#include "plan/assemble/plan_of.h"
#include "plan/gguf/architecture.h"
#include "plan/gguf/read_gguf.h"
#include "plan/keys/key.h"
#include "plan/shapes/shapes.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kArchitecture = "general.architecture";
constexpr std::size_t kMaxArchitectureBytes = 64;
constexpr std::int64_t kMaxSplits = 65535;

FileError wrong(const io::GgufValue& value, const std::string& file, ErrorKind kind, std::string expected) {
  return FileError{.kind = kind,
                   .file = std::string(file),
                   .offset = static_cast<std::int64_t>(value.offset),
                   .path = value.key,
                   .expected = std::move(expected),
                   .got = shown(value)};
}

bool is_architecture_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kMaxArchitectureBytes && std::ranges::all_of(text, fits);
}

Result<std::string> read_architecture(const io::GgufHeader& header, const std::string& file) {
  const io::GgufValue* value = header.find(kArchitecture);
  if (value == nullptr) {
    return FileError{.kind = ErrorKind::missing_key,
                     .file = std::string(file),
                     .path = std::string(kArchitecture),
                     .expected = "this key",
                     .got = "a file without it"};
  }
  if (value->type != io::GgufType::text) return wrong(*value, file, ErrorKind::type, "a string");
  if (!is_architecture_name(value->text)) {
    return wrong(*value, file, ErrorKind::bad_value, "letters, digits, _ and -, 64 of them at most");
  }
  return value->text;
}

// ---- split files ----

// "model-00001-of-00003.gguf" for "model-00002-of-00003.gguf"; empty for a name of another form.
std::string first_part(const std::string& file, std::int64_t count) {
  const std::string ending = formatted("-of-{:05}.gguf", count);
  if (!file.ends_with(ending) || file.size() < ending.size() + 6) return {};
  const std::size_t number = file.size() - ending.size() - 5;
  if (file[number - 1] != '-') return {};
  return file.substr(0, number) + "00001" + ending;
}

Result<std::int64_t> split_number(const io::GgufHeader& header, const std::string& file, std::string_view key,
                                  std::int64_t least, std::int64_t otherwise) {
  const io::GgufValue* value = header.find(key);
  if (value == nullptr) return otherwise;
  const bool scalar = value->numbers.size() == 1 && value->type != io::GgufType::array;
  if (!scalar || !value->numbers.front().integer) return wrong(*value, file, ErrorKind::type, "an integer");
  const std::int64_t number = *value->numbers.front().integer;
  if (number >= least && number <= kMaxSplits) return number;
  return wrong(*value, file, ErrorKind::split, formatted("a number from {} to {}", least, kMaxSplits));
}

// The first part of a model in several files has all the metadata; the others are refused, the first one named.
std::optional<FileError> check_split(const io::GgufHeader& header, const std::string& file) {
  const Result<std::int64_t> count = split_number(header, file, "split.count", 1, 1);
  if (!count) return count.error();
  const Result<std::int64_t> number = split_number(header, file, "split.no", 0, 0);
  if (!number) return number.error();
  const io::GgufValue* value = header.find("split.no");
  if (*number == 0 || value == nullptr) return {};
  if (*number >= *count) {
    return wrong(*value, file, ErrorKind::split, formatted("a number below split.count, {}", *count));
  }
  const std::string first = first_part(file, *count);
  FileError error =
      wrong(*value, file, ErrorKind::split, first.empty() ? "the first part of a model in several files" : first);
  error.got = formatted("part {} of {}", *number + 1, *count);
  error.detail = "the first part holds the metadata";
  return error;
}

// ---- warnings ----

// Keys of llama.cpp's list (llama-arch.cpp) under rope. and attention. that say nothing about positions, or nothing
// beside another that was read.
constexpr Names kSilentKeys{
    "attention.clamp_kqv attention.layer_norm_epsilon attention.layer_norm_rms_epsilon attention.group_norm_epsilon "
    "attention.group_norm_groups attention.q_lora_rank attention.kv_lora_rank attention.decay_lora_rank "
    "attention.iclr_lora_rank attention.value_residual_mix_lora_rank attention.gate_lora_rank "
    "attention.output_group_count attention.output_lora_rank attention.value_scale attention.key_length "
    "attention.value_length attention.head_count_kv attention.indexer.top_k attention.indexer.block_size "
    "attention.indexer.local_blocks attention.indexer.types rope.scaling.finetuned attention.causal"};
// Those that some architectures read, and that mislead where they are not read.
constexpr Names kOthersKeys{
    "attention.sliding_window attention.sliding_window_pattern attention.max_alibi_bias attention.scale "
    "attention.output_scale attention.temperature_length attention.temperature_scale attention.relative_buckets_count "
    "attention.shared_kv_layers attention.recurrent_layers attention.compress_rope_freq_base "
    "attention.compress_ratios rope.dimension_count rope.dimension_count_swa rope.dimension_sections rope.freq_base "
    "rope.freq_base_swa rope.scaling.alpha rope.scaling.attn_factor rope.scaling.yarn_log_multiplier "
    "rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow rope.scaling.yarn_ext_factor "
    "rope.scaling.yarn_attn_factor rope.scaling.type rope.scaling.factor rope.scaling.original_context_length "
    "rope.scale_linear attention.key_length_mla attention.value_length_mla attention.key_length_swa "
    "attention.value_length_swa attention.indexer.head_count attention.indexer.key_length"};

void warn_of_ignored(GgufScope& scope, const std::vector<std::string>& ignored) {
  const std::size_t prefix = scope.key("").size();
  for (const std::string& key : ignored) {
    const std::string_view name = std::string_view(key).substr(prefix);
    if (!name.starts_with("rope.") && !name.starts_with("attention.")) continue;
    if (kSilentKeys.contains(name)) continue;
    if (kOthersKeys.contains(name)) {
      scope.warn("misleading-key",
                 formatted("{} has no effect: llama.cpp does not read it for {}.", key, scope.architecture().name),
                 {key});
    } else {
      scope.warn("unknown-key", formatted("{} is not a key that is known here.", key), {key});
    }
  }
}

void warn_of_notes(const io::GgufHeader& header, std::vector<Warning>& warnings) {
  for (const io::GgufNote& note : header.notes) warnings.push_back({note.code, note.message, {note.key}});
}

// What posenc convert leaves (docs/convert.md). The plan is of what the architecture's code does, not of moved rows.
constexpr std::string_view kMark = "posenc.pairing.";

void warn_of_marks(const io::GgufHeader& header, std::vector<Warning>& warnings) {
  for (const io::GgufValue& value : header.values) {
    if (!value.key.starts_with(kMark) || value.type != io::GgufType::text) continue;
    const std::string pairing = value.text.substr(0, value.text.find(' '));  // spaces fill the alignment
    if (pairing != name(Pairing::half) && pairing != name(Pairing::interleaved)) continue;
    warnings.push_back({"converted-rows",
                        formatted("posenc convert has moved the rows of q and k of the {}: they pair as {} now.",
                                  value.key.substr(kMark.size()), pairing),
                        {value.key}});
  }
}

// Nothing of the model's own keys was read.
Plan without_stacks(Plan plan, const io::GgufHeader& header, std::string_view code, std::string message) {
  plan.warnings.push_back({std::string(code), std::move(message), {std::string(kArchitecture)}});
  const std::string prefix = plan.model_type + ".";
  for (const io::GgufValue& value : header.values) {
    if (value.key.starts_with(prefix)) plan.ignored_keys.push_back(value.key);
  }
  return plan;
}

// The slowest axis first; the innermost, which llama.cpp calls ne[0], is the last.
std::vector<NamedShape> shapes_of(const io::GgufHeader& header) {
  std::vector<NamedShape> shapes;
  for (const io::GgufTensor& tensor : header.tensors) {
    if (!role_of(tensor.name)) continue;
    NamedShape& one = shapes.emplace_back(NamedShape{tensor.name, {}});
    for (std::uint32_t axis = tensor.dims; axis > 0; --axis) {
      one.shape.push_back(static_cast<std::int64_t>(tensor.shape[axis - 1]));
    }
  }
  return shapes;
}

}  // namespace

Result<Plan> read_gguf(io::ByteCursor& cursor, PlanSource source, const ReadOptions& options) {
  const auto is_kept = [](std::string_view key) { return is_position_key(key) || key.starts_with(kMark); };
  const io::GgufKeep keep{.key = is_kept, .model_key = may_be_model_key, .tensor = [](std::string_view name) {
                            return is_position_tensor(name) || role_of(name).has_value();
                          }};
  const Result<io::GgufHeader> header = io::read_gguf_header(cursor, keep);
  if (!header) return header.error();
  const std::string file = source.name;
  if (const std::optional<FileError> split = check_split(*header, file)) return *split;
  const Result<std::string> architecture = read_architecture(*header, file);
  if (!architecture) return architecture.error();
  Plan plan;
  plan.model_type = *architecture;
  plan.family = *architecture;
  plan.source = std::move(source);
  plan.length = options.length;
  warn_of_notes(*header, plan.warnings);
  warn_of_marks(*header, plan.warnings);
  const GgufArchitecture* row = find_gguf_architecture(*architecture);
  if (row == nullptr) {
    return without_stacks(std::move(plan), *header, "unknown-family",
                          formatted("{} is not an architecture that is known here; nothing was read.", *architecture));
  }
  if (!row->undecided.empty()) {
    return without_stacks(std::move(plan), *header, "unread-fact",
                          formatted("{}: not decided here: {}.", row->name, row->undecided));
  }
  const Result<GgufFactors> factors = read_gguf_factors(cursor, *header);
  if (!factors) return factors.error();
  GgufScope scope(*header, *row, file);
  std::vector<StackFacts> stacks = read_gguf_stacks(scope, *factors);
  if (scope.failed()) return scope.error();
  set_trained_length(stacks.front().trained_length, plan);
  plan.known = true;
  for (StackFacts& stack : stacks) {
    stack.unknown = scope.undecided();
    add_stack(std::move(stack), plan);
  }
  if (const std::optional<FileError> too_large = beyond_size(plan)) return *too_large;
  if (const std::optional<FileError> unusable = unusable_number(plan)) return *unusable;
  plan.ignored_keys = scope.ignored_keys();
  warn_of_ignored(scope, plan.ignored_keys);
  std::vector<Warning> warnings = scope.take_warnings();
  plan.warnings.insert(plan.warnings.end(), std::make_move_iterator(warnings.begin()),
                       std::make_move_iterator(warnings.end()));
  std::ranges::move(judge_blocks(scope, plan), std::back_inserter(plan.warnings));
  std::ranges::move(judge_shapes(plan, shapes_of(*header)), std::back_inserter(plan.warnings));
  return plan;
}

}  // namespace posenc::plan
