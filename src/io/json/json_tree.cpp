// The nodes of a JSON text: their content, keys, neighbours, JSON pointers (RFC 6901) and errors with line and column.
#include "io/json/json_tree.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::io {

std::string_view JsonTree::content(std::uint32_t node) const noexcept {
  const JsonNode& n = nodes[node];
  return std::string_view(n.decoded ? decoded : text).substr(n.content, n.extent);
}

bool JsonTree::is_member(std::uint32_t node) const noexcept {
  return nodes[node].parent != kNoNode && nodes[nodes[node].parent].kind == JsonKind::object;
}

std::string_view JsonTree::key_of(std::uint32_t value) const noexcept {
  return is_member(value) ? content(value - 1) : std::string_view{};
}

std::uint32_t JsonTree::first_value(std::uint32_t container) const noexcept {
  if (nodes[container].members == 0) return kNoNode;
  return container + (nodes[container].kind == JsonKind::object ? 2 : 1);
}

std::uint32_t JsonTree::next_value(std::uint32_t container, std::uint32_t value) const noexcept {
  const bool nested = nodes[value].kind == JsonKind::array || nodes[value].kind == JsonKind::object;
  const std::uint32_t behind = nested ? nodes[value].extent : value + 1;
  if (behind == nodes[container].extent) return kNoNode;
  return behind + (nodes[container].kind == JsonKind::object ? 1 : 0);
}

// RFC 6901: '~' and '/' within a key are written ~0 and ~1; members of arrays go by number. Collected from the node up
// to the root, written from the root down.
std::string JsonTree::pointer(std::uint32_t node, std::size_t limit) const {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t at = node; nodes[at].parent != kNoNode; at = nodes[at].parent) steps.push_back(at);
  std::string out;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    out += '/';
    if (!is_member(*step)) {
      out += formatted("{}", nodes[*step].ordinal);
      continue;
    }
    for (const char c : key_of(*step)) {
      // Between characters.
      if (out.size() >= limit && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) return out + "...";
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

// Counts the lines before the offset each time: errors are few, and json_parse.cpp lists many lines by one pass.
// A byte order mark takes no column.
FileError JsonTree::error_at(ErrorKind kind, std::size_t offset) const {
  FileError error;
  error.kind = kind;
  error.file = file;
  error.offset = static_cast<std::int64_t>(offset);
  const std::string_view before = std::string_view(text).substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? text_begin : newline + 1;
  error.line = 1 + std::count(before.begin(), before.end(), '\n');
  error.column = 1 + static_cast<std::int64_t>(offset - line_begin);
  return error;
}

bool key_before(std::string_view a, std::string_view b) noexcept {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string shorten(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t cut = limit;
  // Not within a character.
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return formatted("{}... ({} bytes)", text.substr(0, cut), text.size());
}

}  // namespace posenc::io
