// Generates with a model of the Llama family; README.md has examples. What posenc does for it is in decoder.h.
#include <exception>
#include <iostream>

#include "decoder.h"
#include "tokenizer.h"

namespace {

constexpr const char* kUsage = R"(usage: decoder MODEL [OPTION VALUE]...
  MODEL              a checkpoint of llama2.c, or a folder with config.json and
                     safetensors, of the Llama family
  --tokenizer FILE   of llama2.c; without one, a text is the numbers of its tokens
  --prompt TEXT      how the text begins
  --steps N          tokens to add [256]
  --cache N          tokens that are remembered [256]
  --rope RULE        another rule, in a config.json's words: yarn:factor=4
  --spoil WHAT       shows what comes of a wrong `pairing`, or of `keys`, and
                     keys alone, one position too far
  --loss FILE        prints the mean loss by position on a text
  --logits FILE.npy  writes the logits behind each token of the prompt
)";

// Always the likeliest token, until the text ends.
void generate(Decoder& decoder, const Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt, int steps) {
  for (std::size_t i = 1; i < prompt.size(); ++i) std::cout << tokenizer.decode(prompt[i], prompt[i - 1]);
  Numbers logits = decoder.read(prompt);
  const std::ptrdiff_t vocab = std::ssize(logits) / std::ssize(prompt);
  for (std::int32_t token = prompt.back(); steps > 0; --steps) {
    const auto first = logits.end() - vocab;
    const auto next = static_cast<std::int32_t>(std::max_element(first, logits.end()) - first);
    if (next == kBegin || next == kBegin + 1) break;  // what ends a text: llama2.c takes the one, Llama the other
    std::cout << tokenizer.decode(next, std::exchange(token, next)) << std::flush;
    logits = decoder.read({&token, 1});
  }
  std::cout << '\n';
}

// The mean of -ln p(token), for eight stretches of a text.
void print_loss(Decoder& decoder, const std::vector<std::int32_t>& tokens) {
  const Numbers logits = decoder.read(tokens);
  const std::size_t vocab = logits.size() / tokens.size();
  const std::size_t stretch = (tokens.size() + 6) / 8;
  double sum = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const float* row = &logits[(i - 1) * vocab];
    const double most = *std::max_element(row, row + vocab);
    const auto add = [&](double all, float logit) { return all + std::exp(logit - most); };
    sum += most + std::log(std::accumulate(row, row + vocab, 0.0, add)) - row[tokens[i]];
    if (i % stretch != 0 && i + 1 != tokens.size()) continue;
    const std::size_t first = (i - 1) / stretch * stretch + 1;
    std::cout << "positions " << first << " to " << i << ": " << sum / static_cast<double>(i + 1 - first) << '\n';
    sum = 0;
  }
}

int run(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--tokenizer", ""}, {"--prompt", ""}, {"--steps", "256"},
                                             {"--cache", "256"},  {"--rope", ""},   {"--spoil", ""},
                                             {"--loss", ""},      {"--logits", ""}};
  if (argc < 2 || argc % 2 != 0) throw std::runtime_error(kUsage);
  for (int i = 2; i < argc; i += 2) {
    if (!options.contains(argv[i])) throw std::runtime_error(kUsage);
    options[argv[i]] = argv[i + 1];
  }
  const std::int64_t capacity = std::stoll(options["--cache"]);
  Model model = read_model(argv[1], capacity);
  if (!options["--rope"].empty()) replace_rule(model.plan, options["--rope"]);
  if (options["--spoil"] == "pairing") swap_pairing(model.plan);
  Decoder decoder(model, capacity, options["--spoil"] == "keys" ? 1 : 0);

  const Tokenizer tokenizer(options["--tokenizer"]);
  std::ifstream text(options["--loss"]);
  const std::vector<std::int32_t> tokens =
      tokenizer.encode(text ? std::string(std::istreambuf_iterator(text), {}) : options["--prompt"]);
  if (tokens.empty()) throw std::runtime_error("no tokens to begin with");
  if (!options["--loss"].empty()) {
    print_loss(decoder, tokens);
  } else if (!options["--logits"].empty()) {
    const Numbers logits = decoder.read(tokens);
    const std::int64_t rows = std::ssize(tokens);
    value_of(posenc::write_npy(options["--logits"], posenc::tensor(logits.data(), {rows, std::ssize(logits) / rows})));
  } else {
    generate(decoder, tokenizer, tokens, std::stoi(options["--steps"]));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "decoder: " << error.what() << '\n';
    return 1;
  }
}
