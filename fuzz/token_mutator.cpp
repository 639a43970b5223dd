#include <cstddef>
#include <random>
#include <vector>

#include "fuzz/mutator.h"
#include "fuzz/words.h"

namespace posenc::fuzz {
namespace {

// Numbers at which readers change their minds: limits of types, of this library, of doubles, and small ones.
constexpr std::string_view kValues[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "4",
                                        "6",
                                        "7",
                                        "8",
                                        "16",
                                        "64",
                                        "-1",
                                        "-0.0",
                                        "0.25",
                                        "0.5",
                                        "1.0",
                                        "1.5",
                                        "2.5",
                                        "1e-9",
                                        "1e-400",
                                        "1e38",
                                        "1e308",
                                        "1e400",
                                        "NaN",
                                        "Infinity",
                                        "-Infinity",
                                        "127",
                                        "128",
                                        "129",
                                        "255",
                                        "1023",
                                        "1024",
                                        "1025",
                                        "4096",
                                        "4096.0",
                                        "8192",
                                        "8193",
                                        "32767",
                                        "65536",
                                        "65537",
                                        "131072",
                                        "2147483647",
                                        "2147483648",
                                        "1073741825",
                                        "9007199254740992",
                                        "9007199254740993",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "-9223372036854775808",
                                        "500000.0",
                                        "10000",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "[]",
                                        "{}",
                                        "[1,1,1,1]",
                                        "[0,1]",
                                        "[2,1,1]",
                                        "{\"a\":1}",
                                        "\"LLLG\"",
                                        "\"\\u0000\"",
                                        "\"\\ud83e\\udded\""};

struct Token {
  std::size_t begin;
  std::size_t end;
  bool is_key = false;  // a string before a colon
};

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+';
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// Strings, and runs of letters and digits: numbers, true, NaN.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (text[at] == '"') {
      at = end_of_string(text, at);
    } else if (is_word(text[at])) {
      while (at < text.size() && is_word(text[at])) ++at;
    } else {
      if (text[at] == ':' && !tokens.empty()) tokens.back().is_key = true;
      ++at;
      continue;
    }
    tokens.push_back({begin, at});
  }
  return tokens;
}

class Mutation {
 public:
  Mutation(std::string_view text, std::uint32_t seed) : text_(text), tokens_(tokens_of(text)), random_(seed) {}

  std::string make() {
    if (tokens_.empty()) return std::string(text_);
    const Token& token = tokens_[below(tokens_.size())];
    switch (below(5)) {
      case 0: return insert_member();
      case 1: return drop_or_double(token);
      default: return replace(token.begin, token.end, token.is_key ? key() : value());
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  std::string word() { return "\"" + std::string(kWords[below(std::size(kWords))]) + "\""; }
  std::string key() { return below(4) == 0 ? copied(true) : word(); }
  std::string value() {
    switch (below(4)) {
      case 0: return word();
      case 1: return copied(false);
      default: return std::string(kValues[below(std::size(kValues))]);
    }
  }

  // A key, or a value, from elsewhere in the text.
  std::string copied(bool of_key) {
    for (int tries = 0; tries < 8; ++tries) {
      const Token& token = tokens_[below(tokens_.size())];
      if (token.is_key == of_key) return std::string(text_.substr(token.begin, token.end - token.begin));
    }
    return of_key ? word() : "1";
  }

  std::string replace(std::size_t begin, std::size_t end, std::string_view with) const {
    std::string out(text_.substr(0, begin));
    out += with;
    out += text_.substr(end);
    return out;
  }

  std::string insert_member() {
    std::vector<std::size_t> braces;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '{') braces.push_back(at + 1);
    }
    if (braces.empty()) return std::string(text_);
    const std::size_t at = braces[below(braces.size())];
    const bool alone = text_.substr(at, 1) == "}";
    return replace(at, at, key() + ":" + value() + (alone ? "" : ","));
  }

  // From this token to the next comma: in flat JSON, a member or an item.
  std::string drop_or_double(const Token& token) {
    const std::size_t comma = text_.find(',', token.end);
    if (comma == std::string_view::npos) return replace(token.begin, token.end, value());
    const std::string_view part = text_.substr(token.begin, comma + 1 - token.begin);
    return below(2) == 0 ? replace(token.begin, comma + 1, "") : replace(token.begin, token.begin, part);
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::minstd_rand random_;
};

}  // namespace

std::string mutate(std::string_view text, std::uint32_t seed) { return Mutation(text, seed).make(); }

}  // namespace posenc::fuzz
