// What posenc bench rotate and posenc bench attend take. Defaults of --model are those of their arguments' structs;
// --layer and --tokens out of range are exit code 2.
#include <array>

#include "line/command_spec.h"
#include "line/model_option.h"
#include "tensors/machine_options.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestTimed = std::int64_t{1} << 20;  // gigabytes of keys and values

Command read_bench_rotate(const Given& given) {
  return BenchRotateArguments{.model = model_given(given, "--model", BenchRotateArguments{}.model.name),
                              .stack = given.text("--stack"),
                              .layer = given.whole("--layer", 0, INT64_MAX),
                              .rotation = given.whole("--rotation", 0, INT64_MAX),
                              .json = given.has("--json")};
}

CommandSpec bench_rotate_spec() {
  return {
      .name = "rotate",
      .description = "RoPE of queries and keys against this machine's limits",
      .options = {{.names = "--model",
                   .value = "MODEL",
                   .description =
                       "Whose shapes are rotated, as for inspect (default: " + BenchRotateArguments{}.model.name + ")"},
                  set_option(),
                  {.names = "--layer", .value = "N", .description = "Counted from 0 (default: the first with RoPE)"},
                  {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
                  {.names = "--rotation", .value = "N", .description = "Which of a layer's rotations, counted from 0"},
                  {.names = "--json", .description = "The measurements as JSON"}},
      .footer =
          "The limits are 64-byte integer XOR in place (RMW) and memcpy of the same bytes,\n"
          "interleaved with the rotation in one process (docs/performance.md). It takes a\n"
          "few seconds.\n\n"
          "Examples:\n"
          "  posenc bench rotate\n"
          "  posenc bench rotate --model gemma-3-4b --layer 5\n"
          "  POSENC_ISA=avx2 POSENC_THREADS=4 posenc bench rotate --json\n\n",
      .read = read_bench_rotate};
}

Command read_bench_attend(const Given& given) {
  BenchAttendArguments out{.model = model_given(given, "--model", BenchAttendArguments{}.model.name),
                           .stack = given.text("--stack"),
                           .layer = given.whole("--layer", 0, INT64_MAX),
                           .cross = given.has("--cross"),
                           .weights = given.text("--weights"),
                           .tokens = given.whole("--tokens", 1, kLargestTimed),
                           .threads = threads_given(given).value_or(1),
                           .isa = isa_given(given),
                           .products = products_given(given),
                           .backward = given.has("--backward"),
                           .json = given.has("--json")};
  if (const auto dtype = given.choice("--dtype", {"f32", "f16", "bf16"})) {
    out.dtype = std::array{DType::f32, DType::f16, DType::bf16}[*dtype];
  }
  return out;
}

CommandSpec bench_attend_spec() {
  return {
      .name = "attend",
      .description = "Attention of a model's layers against this machine's limits",
      .options =
          {{.names = "--model",
            .value = "MODEL",
            .description = "Whose layers attend, as for inspect (default: " + BenchAttendArguments{}.model.name + ")"},
           set_option(),
           {.names = "--layer", .value = "N", .description = "Counted from 0 (default: one of each kind in the stack)"},
           {.names = "--tokens",
            .value = "N",
            .description = "Prefill of N tokens, and decode of one query over N keys (default: prefill of 512 and "
                           "1024, decode over 4096)"},
           {.names = "--dtype", .value = "T", .description = "f32, f16 or bf16 (default: f32 and bf16)"},
           {.names = "--weights",
            .value = "FILE",
            .description = "The layer's learned tables, by name (default: random)"},
           threads_option("(default: 1); one is timed in CPU time, more in wall-clock time"),
           isa_option(),
           products_option(),
           {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
           {.names = "--cross", .description = "The layers' cross-attention to an encoder, not their self-attention"},
           {.names = "--backward",
            .description = "The backward pass too, with gradients of all that is learned; then decode is not timed"},
           {.names = "--json", .description = "The measurements as JSON"}},
      .footer =
          "The limits are peak FLOP/s, multiply-adds on registers (FMA), and memory\n"
          "bandwidth, one pass that only reads the same keys and values. They, attend and\n"
          "the layer without positions alternate in one process (docs/performance.md). It\n"
          "takes some seconds for each kind of layer.\n\n"
          "Examples:\n"
          "  posenc bench attend\n"
          "  posenc bench attend --model gemma-3-4b --tokens 2048 --dtype bf16\n"
          "  posenc bench attend --model t5-base --tokens 512 --backward\n"
          "  posenc bench attend --model llama-3.1-8b --threads 2 --isa avx2\n\n",
      .read = read_bench_attend};
}

}  // namespace

// A command with subjects: it reads nothing itself, and its help lists them.
CommandSpec bench_spec() {
  return {.name = "bench",
          .description = "Speeds on this machine, as fractions of its limits",
          .footer = "Examples:\n  posenc bench rotate\n  posenc bench attend\n\n",
          .subjects = {bench_rotate_spec(), bench_attend_spec()}};
}

}  // namespace posenc::tool
