// A layer's facts as rows of a table, each with the key of the file, or the default, that decided it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "base/number_ranges.h"
#include "io/json/json_writer.h"
#include "plan/json/fact_tree.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

using io::JsonLayout;
using io::JsonWriter;

// Lists of more numbers than these stand among the numbers of a rotation, not among the facts.
constexpr std::size_t kLongestJson = 400;

// Of one layer: "rotate/0/base" -> "/rope_theta".
std::unordered_map<std::string_view, std::string_view> sources_of(const Plan& plan, std::size_t stack,
                                                                  std::int64_t place) {
  std::unordered_map<std::string_view, std::string_view> out;
  const std::string prefix = formatted("/stacks/{}/layers/", stack);
  for (const ValueSource& source : plan.sources) {
    std::string_view where = source.where;
    if (!where.starts_with(prefix)) continue;
    where.remove_prefix(prefix.size());
    const std::size_t slash = where.find('/');
    if (slash == std::string_view::npos || !has_number(where.substr(0, slash), place)) continue;
    out.emplace(where.substr(slash + 1), source.from);
  }
  return out;
}

class FactRows {
 public:
  FactRows(JsonWriter& json, std::unordered_map<std::string_view, std::string_view> sources, const LayerPlan& layer,
           std::int64_t length)
      : json_(json), sources_(std::move(sources)), layer_(layer), length_(length) {}

  // A fact that has members is a row for each of them. `from` holds for all that stands below.
  void add(const plan::Fact& fact, const std::string& path, std::string_view from = {}) {
    if (const auto found = sources_.find(path); found != sources_.end()) from = found->second;
    if (!fact.kind.empty()) write(path + "/kind", std::string(fact.kind), {}, from);
    if (fact.has_members && !fact.members.empty()) {
      for (const plan::Fact& member : fact.members)
        add(member, path.empty() ? member.key : path + "/" + member.key, from);
      if (fact.key == "scaling" && rotation_ < layer_.rotate.size()) add_effective(path);
    } else if (fact.kind.empty()) {
      write(path, fact.words, fact.json, from.empty() && fact.key == "truncate" ? kOfYarn : from);
    }
    if (fact.key == "scaling") ++rotation_;
  }

 private:
  static constexpr std::string_view kOfYarn = "default: of YaRN";

  // What a rule takes where no file says it, and what it makes of that.
  void add_effective(const std::string& path) {
    const Rope& of = rope(layer_.rotate[rotation_]);
    const auto add_number = [&](const std::string& where, double number, std::string_view from) {
      write(where, formatted("{}", number), formatted("{}", number), from);
    };
    if (const auto* const yarn = std::get_if<YarnScaling>(&of.scaling)) {
      if (!yarn->beta_fast) add_number(path + "/beta_fast", 32, kOfYarn);
      if (!yarn->beta_slow) add_number(path + "/beta_slow", 1, kOfYarn);
    }
    const double factor = frequencies_at(of, length_).attention_factor;
    if (factor != 1.0) {
      add_number(path.substr(0, path.rfind('/')) + "/attention_factor", factor,
                 "default: what the rule makes of these");
    }
  }

  void write(const std::string& path, const std::string& words, const std::string& value, std::string_view from) {
    json_.begin_object(JsonLayout::line);
    json_.member("fact", path);
    json_.member("words", words);
    json_.key("value");
    if (value.empty()) {
      json_.value(words);
    } else if (value.size() > kLongestJson) {
      json_.null();
    } else {
      json_.verbatim(value);
    }
    json_.key("from");
    from.empty() ? json_.null() : json_.value(from);
    json_.end_object();
  }

  JsonWriter& json_;
  std::unordered_map<std::string_view, std::string_view> sources_;
  const LayerPlan& layer_;
  std::int64_t length_;
  std::size_t rotation_ = 0;
};

}  // namespace

void write_facts(JsonWriter& json, const Plan& plan, std::size_t stack, const Kind& kind, const Lengths& lengths) {
  FactRows rows(json, sources_of(plan, stack, kind.run.layers.front()), *kind.layer, lengths.target);
  json.begin_array();
  for (const plan::Fact& fact : plan::layer_facts(*kind.layer).members) rows.add(fact, fact.key);
  json.end_array();
}

}  // namespace posenc::report
