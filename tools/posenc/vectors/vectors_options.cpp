// What posenc vectors takes. Exit code 2 where a test does not go with the format.
#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

Command read_vectors_command(const Given& given) {
  VectorsArguments out{.model = given.text_or("MODEL", ""),
                       .out = given.text_or("--output", ""),
                       .stack = given.text("--stack"),
                       .layer = given.whole("--layer", 0, INT64_MAX),
                       .cross = given.has("--cross"),
                       .tokens = given.whole("--tokens", 1, kMostVectorTokens),
                       .start = given.whole("--start", 0, kLargestLength),
                       .length = given.whole("--length", 1, kLargestLength),
                       .json = given.has("--json")};
  // In the order of VectorFormat and VectorTest.
  if (const auto format = given.choice("--format", {"npy", "safetensors", "json", "c", "rust", "python"})) {
    out.format = static_cast<VectorFormat>(*format);
  }
  if (const auto test = given.choice("--test", {"none", "pytest", "googletest", "c", "cargo"})) {
    out.test = static_cast<VectorTest>(*test);
    const bool of_c = *out.test == VectorTest::c || *out.test == VectorTest::googletest;
    const bool is_c = out.format == VectorFormat::c;
    const bool is_rust = out.format == VectorFormat::rust;
    const bool goes = *out.test == VectorTest::none || (of_c && is_c) || (*out.test == VectorTest::cargo && is_rust) ||
                      (*out.test == VectorTest::pytest && !is_c && !is_rust);
    if (!goes) {
      throw UsageError{
          formatted("--test {} does not go with --format {}: googletest and c go with c, cargo with rust, "
                    "pytest with npy, safetensors, json and python",
                    name(*out.test), name(out.format))};
    }
  }
  return out;
}

}  // namespace

CommandSpec vectors_spec() {
  return {
      .name = "vectors",
      .description = "Small inputs of a layer and what the float64 reference makes of them, to test a port with",
      .options = {{.names = "MODEL",
                   .value = "",
                   .description = "As for inspect: a file, a directory, the name of a preset, or -",
                   .required = true},
                  set_option(),
                  {.names = "-o,--output",
                   .value = "DIR",
                   .description = "A directory that is not there yet, or is empty; it is written whole or not at all",
                   .required = true},
                  {.names = "--layer",
                   .value = "N",
                   .description = "Counted from 0; may be omitted where all layers are alike"},
                  {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
                  {.names = "--cross", .description = "The layer's cross-attention"},
                  {.names = "--tokens",
                   .value = "N",
                   .description = formatted("1 to {} (default: 12, or more where the layer's rules have more edges)",
                                            kMostVectorTokens)},
                  {.names = "--start",
                   .value = "P",
                   .description = "Tokens at P, P + 1, ...; omitted: at 0, 1, 2 and on both sides of each edge of the "
                                  "layer's rules (its window, its chunks, LongRoPE's switch, ...)"},
                  {.names = "--length",
                   .value = "N",
                   .description = "Sequence length in tokens, for scaling rules that depend on it"},
                  {.names = "--format",
                   .value = "F",
                   .description = "npy (default), safetensors, json, c, rust or python"},
                  {.names = "--test",
                   .value = "T",
                   .description = "The test to write beside: pytest, googletest, c, cargo or none; omitted: the one of "
                                  "the format"},
                  {.names = "--json", .description = "The report as JSON"}},
      .footer =
          "The test calls port_rotate and port_attend, which you fill in; it fails until then.\n"
          "posenc check holds outputs that were written to files, and says what is wrong.\n\n"
          "Examples:\n"
          "  posenc vectors llama-3.1-8b -o golden\n"
          "  posenc vectors model/ -o golden --layer 5 --format c --test googletest\n"
          "  posenc vectors model.gguf -o golden --start 4090 --tokens 16\n\n",
      .read = read_vectors_command};
}

}  // namespace posenc::tool
