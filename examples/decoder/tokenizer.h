// Texts and tokens: byte pair encoding with a tokenizer of llama2.c. Without one, a text is the numbers of its tokens.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

constexpr std::int32_t kBegin = 1;      // the token before a text
constexpr std::int32_t kFirstByte = 3;  // the first of 256 that stand for one byte each

class Tokenizer {
 public:
  // The file: an int32; then of each token its score, f32, the length of its piece of text, int32, and the piece.
  explicit Tokenizer(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    file.ignore(4);
    float score = 0;
    std::int32_t length = 0;
    const auto read = [&](auto& to) { return !!file.read(reinterpret_cast<char*>(&to), sizeof to); };
    while (read(score) && read(length)) {
      std::string& piece = pieces_.emplace_back(static_cast<std::uint16_t>(length), '\0');
      file.read(piece.data(), std::ssize(piece));
      tokens_[piece] = {score, static_cast<std::int32_t>(pieces_.size() - 1)};
    }
  }

  // Characters, of which the two neighbours that are the piece of highest score become one, again and again. What is no
  // piece in the end is bytes.
  std::vector<std::int32_t> encode(const std::string& text) const {
    std::istringstream numbers(text);
    if (pieces_.empty()) return {std::istream_iterator<std::int32_t>(numbers), {}};
    std::vector<std::string> parts;
    for (const char c : text.empty() ? text : " " + text) {
      if ((c & 0xC0) != 0x80) parts.emplace_back();  // not inside of a character in UTF-8
      parts.back() += c;
    }
    const auto score = [&](auto part) { return tokens_.at(part[0] + part[1]).first; };
    for (auto best = parts.begin(); best != parts.end();) {
      best = parts.end();
      for (auto part = parts.begin(); part + 1 < parts.end(); ++part) {
        if (tokens_.contains(part[0] + part[1]) && (best == parts.end() || score(part) > score(best))) best = part;
      }
      if (best == parts.end()) break;
      *best += best[1];
      parts.erase(best + 1);
    }
    std::vector<std::int32_t> tokens{kBegin};
    for (const std::string& part : parts) {
      if (const auto token = tokens_.find(part); token != tokens_.end()) {
        tokens.push_back(token->second.second);
      } else {
        for (const char byte : part) tokens.push_back(kFirstByte + static_cast<unsigned char>(byte));
      }
    }
    return tokens;
  }

  std::string decode(std::int32_t token, std::int32_t before) const {
    if (pieces_.empty()) return std::to_string(token) + " ";
    if (token >= kFirstByte && token < kFirstByte + 256) return {static_cast<char>(token - kFirstByte)};
    const std::string& piece = pieces_.at(static_cast<std::size_t>(token));
    return before == kBegin && piece.starts_with(' ') ? piece.substr(1) : piece;
  }

 private:
  std::vector<std::string> pieces_;
  std::map<std::string, std::pair<float, std::int32_t>> tokens_;  // score and token of a piece
};
