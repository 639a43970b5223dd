// The words of the kinds that are curves, and not about one rotation of a model.
#include <vector>

#include "plot/figures.h"
#include "plot/plot_options.h"

namespace posenc::tool {
namespace {

// An odd number of channels is refused by decay_curves, with the library's message.
Command read_decay(const Given& given) {
  constexpr std::int64_t kMostChannels = 256;  // of a table of random rows, 128 MiB with these two
  constexpr std::int64_t kLongest = 1 << 16;
  DecayPlot out;
  out.channels = given.whole("--channels", 2, kMostChannels).value_or(out.channels);
  out.base = given.from_zero("--base").value_or(out.base);
  out.longest = given.whole("--tokens", 2, kLongest).value_or(out.longest);
  return with_output(given, out);
}

// --items stays text: figures/coordinates_figure.cpp reads it.
Command read_coordinates(const Given& given) {
  CoordinatesPlot out;
  // In the order of GridRule.
  const auto rule = given.choice("--rule", {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v"});
  if (rule) out.rule = static_cast<GridRule>(*rule);
  out.items = given.text_or("--items", out.items);
  return with_output(given, out);
}

Command read_query_scale(const Given& given) {
  QueryScalePlot out;
  out.model = model_words(given);
  out.tokens = given.whole("--tokens", 2, kLargestLength).value_or(out.tokens);
  return with_output(given, out);
}

}  // namespace

CommandSpec decay_spec() {
  return {.name = "decay",
          .description = "The curves behind RoPE's long-term decay: scores by distance",
          .options = with_output(
              {{{.names = "--base", .value = "X", .description = "Base of RoPE (default: 10000)"},
                {.names = "--channels", .value = "N", .description = "Rotated channels (default: 128), at most 256"},
                {.names = "--tokens", .value = "N", .description = "The largest distance (default: 1024)"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot decay -o decay.svg\n"
              "  posenc plot decay --base 500000 --tokens 8192 -o slow.svg\n\n",
          .read = read_decay};
}

CommandSpec coordinates_spec() {
  return {.name = "coordinates",
          .description = "Positions of text, image and video tokens on three axes (M-RoPE)",
          .options = with_output(
              {{{.names = "--rule", .value = "R", .description = "qwen2_vl (default), qwen2_5_vl, qwen3_vl or glm4v"},
                {.names = "--items",
                 .value = "LIST",
                 .description = "text=N, image=HxW and video=FxHxW, sizes in patches, two of which along each side are "
                                "a token (default: text=3,image=4x6,text=2)"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot coordinates -o image.svg\n"
              "  posenc plot coordinates --items text=4,video=3x4x4,text=4 -o video.svg\n\n",
          .read = read_coordinates};
}

CommandSpec query_scale_spec() {
  return {.name = "query-scale",
          .description = "Query scale by position (Llama 4, Ministral 3, Qwen 1)",
          .options = with_output(
              {layer_options("Whose scale is drawn, instead of one of each kind"),
               {{.names = "--tokens", .value = "N", .description = "Positions 0 to N - 1 (default: 65536)"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot query-scale -o scales.svg\n"
              "  posenc plot query-scale --model config.json --tokens 1048576 -o far.svg\n\n",
          .read = read_query_scale};
}

}  // namespace posenc::tool
