// Where a plan's values come from: a line per key of the file, then the defaults.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "inspect/layer_groups.h"
#include "inspect/plan_sections.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kDefault = "default: ";
// Of the column of keys; a longer key has a line of its own.
constexpr std::int64_t kWidestKey = 26;

// Values that one key decided in one structure: "rotate.scaling", {"rule", "factor"}.
struct Fields {
  std::string who;   // "vision A": stack, where there are several, and letters, where not all layers are meant
  std::string head;  // "rotate.scaling", or empty
  std::vector<std::string> leaves;
};

// A key of the file, or a default, and all that it decided.
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

// "/stacks/0/layers/0-31/rotate/0/base": what stands between the slashes.
std::vector<std::string_view> path_parts(std::string_view pointer) {
  std::vector<std::string_view> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(pointer.front() == '/' ? 1 : 0);
    parts.push_back(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(parts.back().size());
  }
  return parts;
}

// A stack and the letters that its layers have in the table of add_stack.
struct StackLetters {
  const Stack* stack;
  std::vector<Group> groups;
  std::map<std::string, std::string, std::less<>> letters{};  // of "0-31", once somebody asked

  const std::string& of(std::string_view layers) {
    const auto found = letters.find(layers);
    if (found != letters.end()) return found->second;
    return letters.emplace(layers, letters_of(*stack, groups, layers)).first->second;
  }
};

// Takes "stacks/0" and "layers/0-31" off the head of `parts` and says in words whose they are.
std::string take_owner(std::vector<StackLetters>& stacks, std::vector<std::string_view>& parts) {
  std::size_t at = stacks.size();
  if (parts.size() < 2 || parts.front() != "stacks") return {};
  std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), at);
  parts.erase(parts.begin(), parts.begin() + 2);
  if (at >= stacks.size()) return {};
  std::string who = stacks.size() > 1 ? stacks[at].stack->name : "";
  if (parts.size() < 3 || parts.front() != "layers") return who;
  const std::string& letters = stacks[at].of(parts[1]);
  parts.erase(parts.begin(), parts.begin() + 2);
  return who + (who.empty() || letters.empty() ? "" : " ") + letters;
}

bool is_zero(std::string_view part) { return part == "0"; }

// Sources by what they have in common, in the order in which they came. A saved plan may have as many as it has bytes.
class Origins {
 public:
  void add(std::vector<StackLetters>& stacks, const ValueSource& source);
  std::vector<Origin> take() { return std::move(origins_); }

 private:
  std::vector<Origin> origins_;
  std::map<std::string, std::size_t> by_from_;                                        // places in origins_
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> by_head_;  // places in Origin::fields
  std::set<std::tuple<std::size_t, std::size_t, std::string>> leaves_;
};

// Files a value under the key that decided it: "/stacks/0/layers/0-31/rotate/0/base", from "/rope_theta", becomes
// "rotate.base" of the origin "/rope_theta", and names no layers where all are meant.
void Origins::add(std::vector<StackLetters>& stacks, const ValueSource& source) {
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

  const auto [origin, is_new_origin] = by_from_.try_emplace(from, origins_.size());
  if (is_new_origin) origins_.push_back({from, {}});
  std::vector<Fields>& all = origins_[origin->second].fields;
  const auto [fields, are_new] = by_head_.try_emplace({origin->second, who, head}, all.size());
  if (are_new) all.push_back({who, head, {}});
  if (leaves_.emplace(origin->second, fields->second, leaf).second) all[fields->second].leaves.push_back(leaf);
}

// "/text_config" when all keys stand in it; else nothing. What --set said stands nowhere.
std::string common_parent(const std::vector<Origin>& origins) {
  const auto in_file =
      std::find_if(origins.begin(), origins.end(), [](const Origin& o) { return o.from.starts_with('/'); });
  if (in_file == origins.end()) return {};
  const std::string& first = in_file->from;
  const std::size_t second_slash = first.find('/', 1);
  if (!first.starts_with('/') || second_slash == std::string::npos) return {};
  const std::string parent = first.substr(0, second_slash);
  const bool all = std::all_of(origins.begin(), origins.end(), [&](const Origin& o) {
    return !o.from.starts_with('/') || o.from.starts_with(parent + "/");
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
  for (const Stack& stack : plan.stacks) stacks.push_back({&stack, groups_of(stack), {}});
  Origins found;
  for (const ValueSource& source : plan.sources) found.add(stacks, source);
  std::vector<Origin> origins = found.take();
  if (origins.empty()) return;
  // Keys of the file first, defaults behind them, each in the order of the plan.
  std::stable_partition(origins.begin(), origins.end(), [](const Origin& o) { return !o.from.starts_with(kDefault); });

  const std::string under = common_parent(origins);
  page.blank();
  page.line(page.paint(Style::bold, "where the values come from") +
            (under.empty() ? "" : ", under " + printable(excerpt(under))));
  for (Origin& origin : origins) {
    if (origin.from.starts_with('/')) origin.from.erase(0, under.size());
  }
  // At least as wide as "defaults", the label below, and a gap.
  std::int64_t width = 10;
  for (const Origin& origin : origins) {
    const std::int64_t needed = columns(printable(excerpt(origin.from)));
    if (needed <= kWidestKey && !origin.from.starts_with(kDefault)) width = std::max(width, needed);
  }
  std::string_view defaults = "defaults";
  for (const Origin& origin : origins) {
    const std::string text = printable(excerpt(fields_text(origin.fields)));
    const std::string from = printable(excerpt(origin.from));
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
