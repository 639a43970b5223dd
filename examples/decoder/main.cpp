// Generates with a model of the Llama family; README.md has examples. What posenc does for it is in decoder.h.
#include <iostream>

#include "decoder.h"
#include "tokenizer.h"

namespace {

constexpr const char* kUsage =
    "usage: decoder MODEL [--tokenizer FILE] [--prompt TEXT | --loss FILE] [--steps N] [--cache N] [--store f32|int8]\n"
    "                     [--rope RULE] [--reuse N] [--spoil pairing|keys] [--logits FILE.npy]";

// Always the likeliest token, until the text ends.
void generate(Decoder& decoder, const Tokenizer& tokenizer, const Tokens& prompt, const Tokens& ends, int steps) {
  Numbers logits = decoder.read(prompt);
  // The token that the tokenizer put before the text is no part of it.
  for (std::size_t i = tokenizer.first_of_text(); i < prompt.size(); ++i)
    std::cout << tokenizer.decode(prompt[i], i == 0 ? kBegin : prompt[i - 1]);
  const std::ptrdiff_t vocab = std::ssize(logits) / std::ssize(prompt);
  for (std::int32_t token = prompt.back(); steps > 0; --steps) {
    const auto row = logits.end() - vocab;
    const auto next = static_cast<std::int32_t>(std::max_element(row, logits.end()) - row);
    if (std::find(ends.begin(), ends.end(), next) != ends.end()) break;
    std::cout << tokenizer.decode(next, std::exchange(token, next)) << std::flush;
    logits = decoder.read({&token, 1});
  }
  std::cout << '\n';
}

// -ln p of each token, p = exp(logit) / sum of exp(logits); the mean of 32 positions. The first `reuse` tokens are read
// behind the rest of the text, and then used where they belong: at the front.
void print_loss(Decoder& decoder, const Tokens& tokens, std::size_t reuse) {
  const std::span all(tokens);
  Numbers logits;
  if (reuse > 0) {
    decoder.read(all.subspan(reuse));
    logits = decoder.read(all.first(reuse));
    decoder.begin_with(std::ssize(all) - static_cast<std::int64_t>(reuse), static_cast<std::int64_t>(reuse));
  }
  for (const float logit : decoder.read(all.subspan(reuse))) logits.push_back(logit);
  const std::size_t vocab = logits.size() / tokens.size();
  double loss = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const float* row = &logits[i * vocab];
    const auto add = [&](double sum, float logit) { return sum + std::exp(double{logit} - row[tokens[i + 1]]); };
    loss += std::log(std::accumulate(row, row + vocab, 0.0, add)) / 32;
    if (i % 32 == 31) std::cout << i - 31 << " to " << i << ": " << std::exchange(loss, 0.0) << '\n';
  }
}

void run(const std::string& path, std::map<std::string, std::string> options) {
  const std::int64_t capacity = std::stoll(options["--cache"]);
  Model model = read_model(path, capacity);
  if (!options["--rope"].empty()) replace_rule(model.plan, options["--rope"]);
  if (options["--spoil"] == "pairing") swap_pairing(model.plan);
  Decoder decoder(model, capacity, options["--store"] == "int8", options["--spoil"] == "keys" ? 1 : 0);

  const Tokenizer tokenizer(options["--tokenizer"]);
  std::ifstream text(options["--loss"]);
  const Tokens tokens = tokenizer.encode(text ? std::string(std::istreambuf_iterator(text), {}) : options["--prompt"]);
  if (tokens.empty() || text.is_open() == options["--loss"].empty()) throw std::runtime_error(kUsage);
  const auto reuse = static_cast<std::size_t>(std::stoi(options["--reuse"]));
  if (reuse > 0 && (!text || reuse >= tokens.size() || std::ssize(tokens) > capacity)) {
    throw std::runtime_error("--reuse needs --loss, fewer tokens than the text has, and a --cache that holds it");
  }
  if (text) return print_loss(decoder, tokens, reuse);
  if (options["--logits"].empty())
    return generate(decoder, tokenizer, tokens, model.ends, std::stoi(options["--steps"]));
  const Numbers logits = decoder.read(tokens);
  const std::int64_t vocab = std::ssize(logits) / std::ssize(tokens);
  value_of(posenc::write_npy(options["--logits"], posenc::tensor(logits.data(), {std::ssize(tokens), vocab})));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::map<std::string, std::string> options{
        {"--steps", "256"}, {"--cache", "256"}, {"--store", "f32"}, {"--reuse", "0"}};
    for (const char* name : {"--tokenizer", "--prompt", "--rope", "--spoil", "--loss", "--logits"}) options[name];
    if (argc == 2 && (argv[1] == std::string("--help") || argv[1] == std::string("-h"))) {
      std::cout << kUsage << "\nMODEL: a checkpoint of llama2.c, or a folder with config.json and safetensors\n";
      return 0;
    }
    if (argc < 2 || argc % 2 != 0) throw std::runtime_error(kUsage);
    for (int i = 2; i < argc; i += 2) {
      if (!options.contains(argv[i])) throw std::runtime_error(std::string("no option ") + argv[i] + "\n" + kUsage);
      options[argv[i]] = argv[i + 1];
    }
    const std::string forms = options["--steps"] + ' ' + options["--cache"] + ' ' + options["--reuse"] + ' ' +
                              options["--store"] + ' ' + options["--spoil"];
    if (!std::regex_match(forms, std::regex("\\d{1,9} \\d{1,9} \\d{1,9} (f32|int8) (pairing|keys)?")))
      throw std::runtime_error(kUsage);
    run(argv[1], options);
  } catch (const std::exception& error) {
    std::cerr << "decoder: " << error.what() << '\n';
    return 1;
  }
}
