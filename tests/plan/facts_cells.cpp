#include "plan/facts_cells.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

#include "posenc/rope.h"

namespace posenc::test {
namespace {

using io::JsonKind;
using io::JsonValue;

std::vector<std::string> texts(const std::optional<JsonValue>& list) {
  std::vector<std::string> out;
  if (!list) return out;
  for (const JsonValue& entry : list->items()) out.emplace_back(entry.text());
  return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) out.append(out.empty() ? "" : separator).append(part);
  return out;
}

std::vector<std::int32_t> numbers(const std::optional<JsonValue>& list) {
  std::vector<std::int32_t> out;
  for (const std::string& text : texts(list)) out.push_back(static_cast<std::int32_t>(std::stol(text)));
  return out;
}

// Pairs of each axis.
std::vector<std::int64_t> counts(const std::vector<std::int32_t>& of_pair, std::size_t axes) {
  std::vector<std::int64_t> out(axes);
  for (const std::int32_t axis : of_pair) ++out.at(static_cast<std::size_t>(axis));
  return out;
}

std::string listed(const std::vector<std::int64_t>& sections) {
  std::vector<std::string> parts;
  for (const std::int64_t section : sections) parts.push_back(std::to_string(section));
  return "[" + joined(parts, ",") + "]";
}

// A value of a scheme's member as the table writes it: "[64,72]" for a list, "0-12" for a range of distances.
std::string member_cell(const std::optional<JsonValue>& value) {
  if (value && value->kind() == JsonKind::array) return "[" + joined(texts(value), ",") + "]";
  if (value && value->kind() == JsonKind::object) return cell(*value, "low") + "-" + cell(*value, "high");
  return cell(value);
}

// The table's short names.
std::string_view full_key(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"c2p", "content_to_position"},
                                                                      {"p2c", "position_to_content"},
                                                                      {"p2p", "position_to_position"},
                                                                      {"share_att_key", "shared_projection"}};
  for (const auto& [name, full] : kShort) {
    if (name == key) return full;
  }
  return key;
}

std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit) out.back() += c;
    if (!digit && !out.back().empty()) out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

}  // namespace

// The member at a path such as "mask/window/past", or nothing when anything on the way is absent or null.
std::optional<JsonValue> at(JsonValue value, std::string_view path) {
  for (const std::string& part : split(path, '/')) {
    const auto member =
        value.kind() == JsonKind::array ? std::optional(value.items().at(std::stoul(part))) : value.find(part).value();
    if (!member || member->is_null()) return {};
    value = *member;
  }
  return value;
}

std::string cell(const std::optional<JsonValue>& value) {
  if (!value) return "-";
  if (value->kind() == JsonKind::boolean) return value->as_bool().value() ? "true" : "false";
  if (value->kind() == JsonKind::array) return "[" + std::to_string(value->size()) + "]";
  return std::string(value->text());
}

std::string cell(const JsonValue& layer, std::string_view path) { return cell(at(layer, path)); }

bool attends(const JsonValue& layer) { return at(layer, "heads").has_value(); }

bool rotates(const JsonValue& layer) {
  const auto rotations = at(layer, "rotate");
  return rotations && rotations->size() > 0;
}

std::string qk_norm_cell(const JsonValue& layer) {
  if (!at(layer, "qk_norm")) return "-";
  return cell(layer, "qk_norm/kind") + "/" + cell(layer, "qk_norm/order") + "/" +
         (cell(layer, "qk_norm/weighted") == "true" ? "weighted" : "unweighted") +
         (at(layer, "qk_norm/weighted_queries") ? " keys" : "") + "/" + cell(layer, "qk_norm/over");
}

std::string soft_cap_cell(const JsonValue& layer) {
  return at(layer, "soft_cap") ? cell(layer, "soft_cap/cap") + "/" + cell(layer, "soft_cap/order") : "-";
}

std::string window_cell(const JsonValue& layer) {
  const std::string past = cell(layer, "mask/window/past");
  const std::string future = cell(layer, "mask/window/future");
  return future == "-" || future == "0" ? past : past + "/" + future;
}

std::string indexer_cell(const JsonValue& layer) {
  const auto rotations = at(layer, "rotate");
  if (!rotations) return "-";
  for (const JsonValue& rotate : rotations->items()) {
    if (cell(rotate, "role") != "indexer") continue;
    return cell(rotate, "heads") + "," + cell(rotate, "head_dim") + "," + cell(rotate, "pairing") + "," +
           cell(rotate, "first_channel") + "," + cell(rotate, "dim") + "," + cell(rotate, "base");
  }
  return "-";
}

std::string axes_cell(const JsonValue& rotate) {
  const std::vector<std::string> names = texts(at(rotate, "axes"));
  const std::string name = joined(names, ",");
  const std::vector<std::int32_t> of_pair = numbers(at(rotate, "axis_of_pair"));
  if (of_pair.empty()) return name;
  const std::vector<std::int64_t> sections = counts(of_pair, names.size());
  const std::string ladder = cell(rotate, "axis_frequencies");
  if (ladder == "-") {
    if (of_pair == chunked_axes(names, sections).of_pair) return name + " chunked" + listed(sections);
    if (names.size() == 3 && of_pair == interleaved_axes(sections).of_pair)
      return name + " interleaved" + listed(sections);
    return "?";
  }
  bool alternates = true;
  for (std::size_t p = 0; p < of_pair.size(); ++p) alternates = alternates && of_pair[p] == static_cast<int>(p % 2);
  if (alternates && ladder == "per_axis") return name + " alternating";
  if (of_pair != axial_axes(names, static_cast<std::int64_t>(of_pair.size())).of_pair) return "?";
  return name + (ladder == "strided" ? " split" : " axial");
}

std::string rotations_cell(const JsonValue& layer) {
  std::vector<std::string> out;
  const auto rotations = at(layer, "rotate");
  if (!rotations || rotations->size() == 0) return "-";
  for (const JsonValue& rotate : rotations->items()) {
    out.push_back(cell(rotate, "pairing") + "/" + cell(rotate, "first_channel") + "/" + cell(rotate, "dim") + "/" +
                  cell(rotate, "base") + "/" + axes_cell(rotate));
  }
  return joined(out, "+");
}

std::string scheme_difference(const std::vector<JsonValue>& schemes, std::string_view fact) {
  std::vector<std::string> kinds;
  for (const JsonValue& scheme : schemes) kinds.push_back(cell(scheme, "kind"));
  const std::vector<std::string> wanted = fact == "-" ? std::vector<std::string>{} : split_outside(fact, '+');
  if (wanted.size() != schemes.size()) return "the plan has " + joined(kinds, "+");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Braced scheme = braced(wanted[i]);
    if (kinds[i] != scheme.name) return "the plan has " + joined(kinds, "+");
    for (const auto& [key, value] : scheme.members) {
      const std::string got = member_cell(at(schemes[i], full_key(key)));
      if (value != "?" && !same_fact(got, value)) return key + " is " + got;
    }
  }
  return {};
}

std::string mask_difference(const JsonValue& mask, std::string_view fact) {
  const std::size_t open = std::min(fact.find('('), fact.size());
  if (cell(mask, "kind") != fact.substr(0, open)) return "it is " + cell(mask, "kind");
  const std::string detail = cell(mask, "detail");
  if (open == fact.size()) return {};
  if (detail == "-") return "it has no detail";
  const std::vector<std::string> said = numbers_in(detail);
  for (const std::string& number : numbers_in(fact.substr(open))) {
    if (std::find(said.begin(), said.end(), number) == said.end()) return "no " + number + " in: " + detail;
  }
  return {};
}

std::vector<std::string> split_outside(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Braced braced(std::string_view text) {
  Braced out;
  const std::size_t open = text.find('{');
  out.name = text.substr(0, open);
  if (open == std::string_view::npos) return out;
  for (const std::string& part : split_outside(text.substr(open + 1, text.size() - open - 2), ',')) {
    const std::size_t equals = part.find('=');
    const bool is_member = equals != std::string::npos && part.find_first_of(" [{(/@") > equals;
    if (is_member) {
      out.members.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else if (!out.members.empty()) {
      out.members.back().second += "," + part;
    }
  }
  return out;
}

}  // namespace posenc::test
