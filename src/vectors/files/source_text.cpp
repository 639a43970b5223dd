// What all writers of source text share.
#include <cmath>

#include "base/formatted.h"
#include "plan/text/text_lines.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::size_t kSourceLine = 112;  // columns

// No line break, and nothing that ends a comment of C.
std::string in_comment(std::string_view text) {
  std::string out = plan::ascii(text);
  for (std::size_t at = out.find("*/"); at != std::string::npos; at = out.find("*/", at)) out[at + 1] = ' ';
  for (char& c : out) {
    if (c == '\\') c = ' ';  // at the end of a line it would go on
  }
  return out;
}

}  // namespace

std::string_view dtype_word(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float32";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::f64: return "float64";
  }
  return "";
}

std::string identifier(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_word) c = '_';
  }
  return out;
}

// The shortest decimals that read back to the same double, with a point.
std::string number_text(double value, std::string_view infinite) {
  if (std::isinf(value)) return std::string(infinite);
  std::string out = formatted("{}", value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string number_rows(const std::vector<double>& values, bool is_whole, std::string_view infinite) {
  std::string out;
  std::string line;
  for (const double value : values) {
    const std::string one = is_whole ? formatted("{}", static_cast<std::int64_t>(value)) : number_text(value, infinite);
    if (!line.empty() && line.size() + one.size() + 2 > kSourceLine) {
      out += "    " + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += one + ",";
  }
  return out + (line.empty() ? "" : "    " + line + "\n");
}

std::string filled(std::string_view text, std::initializer_list<Filling> fillings) {
  std::string out;
  while (!text.empty()) {
    const std::size_t begin = text.find('@');
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = text.find('@', 1);
    const std::string_view name = text.substr(1, end == std::string_view::npos ? 0 : end - 1);
    const Filling* found = nullptr;
    for (const Filling& one : fillings) {
      if (one.name == name && !name.empty()) found = &one;
    }
    out += found != nullptr ? std::string_view(found->text) : text.substr(0, 1);
    text.remove_prefix(found != nullptr ? end + 1 : 1);
  }
  return out;
}

// A quote would end it; title() and fact_lines() leave no backslash.
std::string in_docstring(std::string text) {
  for (char& c : text) {
    if (c == '"') c = '\'';
  }
  return text;
}

std::string title(const Vectors& vectors) {
  return in_comment(formatted("{}, {} layer {}{}", vectors.plan.source.name, vectors.stack, vectors.layer.index,
                              vectors.options.cross ? ", cross-attention" : ""));
}

std::string fact_lines(const Vectors& vectors, std::string_view before) {
  std::string out;
  const auto add = [&](std::string_view text) {
    std::string rest = in_comment(text);
    for (std::size_t indent = 0; !rest.empty(); indent = 2) {
      std::size_t cut = rest.size();
      if (cut > kSourceLine - 4) cut = rest.rfind(' ', kSourceLine - 4);
      if (cut == std::string::npos) cut = kSourceLine - 4;
      out.append(before).append(indent, ' ').append(rest, 0, cut).append("\n");
      rest.erase(0, std::min(cut + 1, rest.size()));
    }
  };
  for (const std::string& fact : vectors.facts) add(fact);
  for (const std::string& reason : vectors.left_out) add("left out: " + reason);
  return out;
}

}  // namespace posenc::inline v0_2::golden
