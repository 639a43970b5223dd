// Texts and tokens: byte pair encoding with a tokenizer of llama2.c. Without one, a text is the numbers of its tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using Tokens = std::vector<std::int32_t>;
constexpr std::int32_t kBegin = 1;      // of llama2.c: stands before a text
constexpr std::int32_t kFirstByte = 3;  // of 256 tokens that stand for one byte each

class Tokenizer {
 public:
  // The file: an int32; then of each token its score, f32, the length of its piece of text, int32, and the piece.
  explicit Tokenizer(const std::string& path) {
    std::ifstream file;  // of a pipe or a device the end may never come
    if (std::filesystem::is_regular_file(path)) file.open(path, std::ios::binary);
    float score = 0;
    std::int32_t length = 0;  // first that of the longest piece, which nobody needs
    const auto read = [&](auto& to) { return !!file.read(reinterpret_cast<char*>(&to), sizeof to); };
    if (!path.empty() && !read(length)) throw std::runtime_error(path + ": cannot be read");
    while (read(score) && read(length)) {
      std::string& piece = pieces_.emplace_back(static_cast<std::uint16_t>(length), '\0');
      if (!file.read(piece.data(), std::ssize(piece))) throw std::runtime_error(path + ": ends within a token");
      tokens_.try_emplace(piece, score, static_cast<std::int32_t>(pieces_.size() - 1));
    }
  }

  Tokens encode(const std::string& text) const {
    std::istringstream numbers(text);
    if (pieces_.empty()) return {std::istream_iterator<std::int32_t>(numbers), {}};
    std::vector<std::string> parts;  // at first the characters of UTF-8
    for (const char c : text.empty() ? text : " " + text) {
      if ((c & 0xC0) != 0x80 || parts.empty()) parts.emplace_back();
      parts.back() += c;
    }
    // Of all neighbours that are a piece together, those whose piece has the highest score become one part.
    for (;;) {
      auto best = tokens_.end();
      std::size_t place = 0;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto piece = tokens_.find(parts[i] + parts[i + 1]);
        if (piece == tokens_.end() || (best != tokens_.end() && piece->second.first <= best->second.first)) continue;
        best = piece;
        place = i;
      }
      if (best == tokens_.end()) break;
      parts[place] = best->first;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    Tokens tokens{kBegin};
    for (const std::string& part : parts) {
      const auto piece = tokens_.find(part);
      if (piece != tokens_.end()) tokens.push_back(piece->second.second);
      for (const unsigned char c : piece == tokens_.end() ? part : "") tokens.push_back(kFirstByte + c);
    }
    return tokens;
  }

  // Where the text begins in what encode() gives.
  std::size_t first_of_text() const { return pieces_.empty() ? 0 : 1; }

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
