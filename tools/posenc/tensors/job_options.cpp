// Options that posenc rotate and posenc attend share. What is refused here is exit code 2, before any file is opened.
#include "tensors/job_options.h"

#include <iterator>
#include <utility>

#include "line/formatted.h"
#include "line/model_option.h"
#include "line/text.h"
#include "tensors/machine_options.h"

namespace posenc::tool {
namespace {

// The end of the name decides the format of the output.
void check_name(const std::string& out, std::string_view two) {
  const bool npy = out.ends_with(".npy");
  if (!npy && !out.ends_with(".safetensors")) {
    throw UsageError{formatted("-o: expected a file name that ends in .npy or .safetensors, got '{}'", printable(out))};
  }
  if (npy && !two.empty()) {
    throw UsageError{formatted("-o: a .npy file holds one tensor, and {} are two; end the name in .safetensors", two)};
  }
}

}  // namespace

std::vector<OptionSpec> job_options(std::string_view verb, std::vector<OptionSpec> own) {
  std::vector<OptionSpec> out{
      {.names = "--model",
       .value = "MODEL",
       .description = "As for inspect: a file, a directory, the name of a preset, or -",
       .required = true},
      set_option(),
      {.names = "--layer",
       .value = "N",
       .description = formatted("Counted from 0; may be omitted where all layers {} alike", verb)},
  };
  std::ranges::move(own, std::back_inserter(out));
  std::vector<OptionSpec> others{
      {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
      {.names = "--layout",
       .value = "L",
       .description =
           "The order of axes: thd (tokens, heads, head_dim; default of 3 axes), htd, bhtd (batch first; default "
           "of 4), bthd"},
      {.names = "--heads",
       .value = "N",
       .description = "The last axis holds all heads side by side, as a projection gives them: [tokens, heads * "
                      "head_dim] or [batch, tokens, heads * head_dim]. N query heads; of keys alone, KV heads"},
      {.names = "--length",
       .value = "N",
       .description =
           "Sequence length in tokens, for scaling rules that depend on it (dynamic NTK, LongRoPE) (default: "
           "the last position + 1)"},
      threads_option("(default: POSENC_THREADS, or the cores that are there)"),
      isa_option(),
      {.names = "--bf16", .description = "16-bit raw elements of a .npy file are bfloat16"},
      {.names = "--force", .description = "Overwrite OUT if it exists"},
      {.names = "--check",
       .description = "Compare with the float64 reference; exit 1 and write nothing when an error is above its bound"},
      {.names = "--json", .description = "The report as JSON"},
  };
  std::ranges::move(others, std::back_inserter(out));
  return out;
}

LayerJob job_given(const Given& given, std::string_view two) {
  LayerJob out{.model = model_given(given, "--model"),
               .stack = given.text("--stack"),
               .layer = given.whole("--layer", 0, INT64_MAX),
               .length = given.whole("--length", 1, kLargestLength),
               .out = given.text_or("--output", ""),
               .heads = given.whole("--heads", 1, INT64_MAX),
               .threads = threads_given(given),
               .isa = isa_given(given),
               .bf16 = given.has("--bf16"),
               .force = given.has("--force"),
               .check = given.has("--check"),
               .json = given.has("--json")};
  // In the order of TensorLayout.
  if (const auto layout = given.choice("--layout", {"thd", "htd", "bhtd", "bthd"})) {
    out.layout = static_cast<TensorLayout>(*layout);
  }
  if (out.layout && out.heads) {
    throw UsageError{"--heads and --layout exclude each other: with --heads the axes are tokens, or batch and tokens"};
  }
  check_name(out.out, two);
  return out;
}

}  // namespace posenc::tool
