// Where a plan's values come from: a line per key of the file, then the defaults.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/layer_groups.h"
#include "inspect/plan_sections.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kDefault = "default: ";
constexpr std::int64_t kWidestKey = 26;

// Values that one key decided in one structure: "rotate.scaling", {"rule", "factor"}.
struct Fields {
  std::string who;   // "vision A": stack, where there are several, and letters, where not all layers are meant
  std::string head;  // "rotate.scaling", or empty
  std::vector<std::string> leaves;
};

struct Origin {
  std::string from;
  std::vector<Fields> fields;
};

std::string dotted(const std::vector<std::string_view>& parts) {
  std::string text;
  for (const std::string_view part : parts) {
    if (!text.empty()) text += '.';
    text += part;
  }
  return text;
}

std::vector<std::string_view> path_parts(std::string_view pointer) {
  std::vector<std::string_view> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(pointer.front() == '/' ? 1 : 0);
    parts.push_back(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(parts.back().size());
  }
  return parts;
}

struct StackLetters {
  const Stack* stack;
  std::vector<Group> groups;
};

// Takes "stacks/0" and "layers/0-31" off the head of `parts` and says in words whose they are.
std::string take_owner(const std::vector<StackLetters>& stacks, std::vector<std::string_view>& parts) {
  std::size_t at = stacks.size();
  if (parts.size() < 2 || parts.front() != "stacks") return {};
  std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), at);
  parts.erase(parts.begin(), parts.begin() + 2);
  if (at >= stacks.size()) return {};
  std::string who = stacks.size() > 1 ? stacks[at].stack->name : "";
  if (parts.size() < 3 || parts.front() != "layers") return who;
  const std::string letters = letters_of(*stacks[at].stack, stacks[at].groups, parts[1]);
  parts.erase(parts.begin(), parts.begin() + 2);
  return who + (who.empty() || letters.empty() ? "" : " ") + letters;
}

bool is_zero(std::string_view part) { return part == "0"; }

void add_field(std::vector<Origin>& origins, const std::vector<StackLetters>& stacks, const ValueSource& source) {
  std::vector<std::string_view> parts = path_parts(source.where);
  const std::string who = take_owner(stacks, parts);
  std::erase_if(parts, is_zero);  // the first and mostly only rotation of a layer
  if (parts.empty()) return;
  const std::string leaf(parts.back());
  parts.pop_back();
  const std::string head = dotted(parts);
  std::string from = source.from;
  // The keys of a rule stand under their own names in one dictionary: that is told once.
  const std::size_t slash = from.rfind('/');
  const bool same_name = slash != std::string::npos && (from.substr(slash + 1) == leaf || leaf == "rule");
  if (head == "rotate.scaling" && same_name && slash > 0 && from.starts_with('/')) from.resize(slash);

  auto origin = std::find_if(origins.begin(), origins.end(), [&](const Origin& o) { return o.from == from; });
  if (origin == origins.end()) origin = origins.insert(origins.end(), {from, {}});
  auto fields = std::find_if(origin->fields.begin(), origin->fields.end(),
                             [&](const Fields& f) { return f.who == who && f.head == head; });
  if (fields == origin->fields.end()) fields = origin->fields.insert(fields, {who, head, {}});
  const auto& known = fields->leaves;
  if (std::find(known.begin(), known.end(), leaf) == known.end()) fields->leaves.push_back(leaf);
}

// "/text_config" when all keys stand in it; else nothing.
std::string common_parent(const std::vector<Origin>& origins) {
  const std::string& first = origins.front().from;
  const std::size_t second_slash = first.find('/', 1);
  if (!first.starts_with('/') || second_slash == std::string::npos) return {};
  const std::string parent = first.substr(0, second_slash);
  const bool all = std::all_of(origins.begin(), origins.end(), [&](const Origin& o) {
    return o.from.starts_with(kDefault) || o.from.starts_with(parent + "/");
  });
  return all ? parent : std::string();
}

// "head_dim, rotate.{dim, base} (A)".
std::string fields_text(const std::vector<Fields>& all) {
  std::vector<std::string> parts;
  for (const Fields& fields : all) {
    const std::string leaves = join(fields.leaves, ", ");
    const bool braces = !fields.head.empty() && fields.leaves.size() > 1;
    std::string text = fields.head.empty() ? leaves : fields.head + (braces ? ".{" + leaves + "}" : "." + leaves);
    if (!fields.who.empty()) text += " (" + fields.who + ")";
    parts.push_back(std::move(text));
  }
  return join(parts, ", ");
}

}  // namespace

void add_sources(Page& page, const Plan& plan) {
  std::vector<StackLetters> stacks;
  for (const Stack& stack : plan.stacks) stacks.push_back({&stack, groups_of(stack)});
  std::vector<Origin> origins;
  for (const ValueSource& source : plan.sources) add_field(origins, stacks, source);
  if (origins.empty()) return;
  std::stable_partition(origins.begin(), origins.end(), [](const Origin& o) { return !o.from.starts_with(kDefault); });

  const std::string under = common_parent(origins);
  page.blank();
  page.line(page.paint(Style::bold, "where the values come from") +
            (under.empty() ? "" : ", under " + printable(under)));
  for (Origin& origin : origins) {
    if (!origin.from.starts_with(kDefault)) origin.from.erase(0, under.size());
  }
  std::int64_t width = 10;
  for (const Origin& origin : origins) {
    const std::int64_t needed = columns(printable(origin.from));
    if (needed <= kWidestKey && !origin.from.starts_with(kDefault)) width = std::max(width, needed);
  }
  std::string_view defaults = "defaults";
  for (const Origin& origin : origins) {
    const std::string text = printable(fields_text(origin.fields));
    const std::string from = printable(origin.from);
    if (from.starts_with(kDefault)) {
      page.entry(2, defaults, width + 4, from.substr(kDefault.size()) + ": " + text);
      defaults = "";
    } else if (columns(from) <= width) {
      page.entry(2, from, width + 4, text);
    } else {
      page.entry(2, "", 2, from, Style::dim);
      page.entry(2, "", width + 4, text);
    }
  }
}

}  // namespace posenc::tool
