// posenc properties [SCHEME...]: number, threshold and verdict of each property.
//
// Without names one line for each scheme, with them one table for each. docs/properties.md has what is measured, and
// the output of this file, which a test compares.
#include <array>
#include <cmath>
#include <cstddef>

#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

struct Measured {
  MeasuredScheme scheme;
  std::vector<PropertyResult> results;
};

// It takes seconds, so a terminal is shown how far it is.
std::vector<Measured> measure(const std::vector<MeasuredScheme>& schemes) {
  std::vector<Measured> out;
  Progress progress;
  for (const MeasuredScheme& scheme : schemes) {
    progress.show("measuring", std::ssize(out), std::ssize(schemes));
    out.push_back({scheme, measure_properties(scheme.name)});
  }
  return out;
}

// What passes: "<= 1e-06".
std::string threshold_text(const PropertyRule& rule) {
  switch (rule.bound) {
    case Bound::above: return "> " + number(rule.threshold);
    case Bound::at_most: return "<= " + number(rule.threshold);
    case Bound::at_least: return ">= " + number(rule.threshold);
  }
  return {};
}

std::string_view verdict(Judgement judgement) {
  switch (judgement) {
    case Judgement::passes: return "pass";
    case Judgement::fails: return "fail";
    case Judgement::does_not_apply: return "-";
  }
  return {};
}

std::string number_text(const PropertyResult& result) {
  return result.judgement == Judgement::does_not_apply ? "-" : measured_number(result.number);
}

// ---- all schemes: a line each, in three tables that fit a page ----

// Properties first .. end - 1 in their order: ten in one table would be wider than 80 columns.
struct Part {
  std::string_view title;
  std::size_t first;
  std::size_t end;
};
constexpr std::array<Part, 3> kParts{{{"The encoding of a place", 0, 4},
                                      {"Beyond what it was made for", 4, 7},
                                      {"Scores and vectors", 7, static_cast<std::size_t>(kProperties)}}};

std::string cell(const PropertyResult& result) {
  if (result.judgement == Judgement::does_not_apply) return "-";
  return padded(number_text(result), kMeasuredColumns) + " " + std::string(verdict(result.judgement));
}

// The questions that the columns stand for, then the table, with names and thresholds on top.
void add_part(Page& page, const Part& part, const std::vector<Measured>& all) {
  const auto rules = property_rules().subspan(part.first, part.end - part.first);
  std::vector<std::vector<std::string>> rows{{"scheme"}, {""}};
  for (const PropertyRule& rule : rules) {
    rows[0].emplace_back(name(rule.property));
    rows[1].push_back(threshold_text(rule));
  }
  for (const Measured& one : all) {
    std::vector<std::string>& row = rows.emplace_back(1, one.scheme.name);
    for (std::size_t n = part.first; n < part.end; ++n) row.push_back(cell(one.results[n]));
  }
  page.line(page.paint(Style::bold, part.title));
  for (const PropertyRule& rule : rules) page.entry(2, name(rule.property), 16, std::string(rule.question) + "?");
  page.blank();
  page.table(0, rows);
  page.blank();
}

void add_all(Page& page, const std::vector<Measured>& all) {
  for (const Part& part : kParts) add_part(page, part, all);
}

// ---- schemes that were named: a table each ----

// Of what passes there is no place to look at; where many places are alike, rounding would choose one.
std::string where_text(const PropertyResult& result) {
  return result.judgement == Judgement::fails ? result.where : "";
}

void add_one(Page& page, const Measured& one) {
  page.line(page.paint(Style::bold, one.scheme.name) +
            formatted(" ({} stage): {}", name(one.scheme.stage), one.scheme.about));
  std::vector<std::vector<std::string>> rows{{"property", "number", "threshold", "verdict", "where"}};
  for (const PropertyRule& rule : property_rules()) {
    const PropertyResult& result = one.results[static_cast<std::size_t>(rule.property)];
    rows.push_back({std::string(name(rule.property)), number_text(result), threshold_text(rule),
                    std::string(verdict(result.judgement)), where_text(result)});
  }
  page.table(2, rows);
  page.blank();
}

std::string table_text(const std::vector<Measured>& all, bool in_full) {
  Page page(output_wants_colour());
  if (in_full) {
    for (const Measured& one : all) add_one(page, one);
  } else {
    add_all(page, all);
  }
  page.entry(0, "", 0,
             formatted("Measured over {} places, trained for {} where that counts, in 2 heads of 16 channels. 0: below "
                       "1e-9, which may be rounding. inf: there is no encoding. -: the question does not apply.",
                       kMeasuredPlaces, kTrainedPlaces));
  return page.text();
}

// ---- JSON ----

std::string rule_json(const PropertyRule& rule) {
  return json_object({{"name", json_string(name(rule.property))},
                      {"question", json_string(std::string(rule.question) + "?")},
                      {"bound", json_string(name(rule.bound))},
                      {"threshold", json_number(rule.threshold)}});
}

std::string result_json(const PropertyResult& result) {
  return json_object({{"property", json_string(name(result.property))},
                      {"number", json_number(result.number)},
                      {"verdict", json_string(name(result.judgement))},
                      {"where", json_string(result.where)}});
}

std::string table_json(const std::vector<Measured>& all) {
  std::vector<std::string> rules;
  for (const PropertyRule& rule : property_rules()) rules.push_back(rule_json(rule));
  std::vector<std::string> schemes;
  for (const Measured& one : all) {
    std::vector<std::string> results;
    for (const PropertyResult& result : one.results) results.push_back(result_json(result));
    schemes.push_back(scheme_json(one.scheme, {{"results", json_array(results)}}));
  }
  return document_json({{"properties", json_array(rules)}, {"schemes", json_array(schemes)}});
}

}  // namespace

std::string property_table(const PropertiesArguments& arguments) {
  const std::vector<Measured> all = measure(asked_schemes(arguments));
  return arguments.json ? table_json(all) : table_text(all, !arguments.schemes.empty());
}

}  // namespace posenc::tool
