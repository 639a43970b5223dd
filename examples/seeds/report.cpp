#include "report.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace seeds {
namespace {

// What --spoil adds: ten units of a fourth decimal, and more than any tolerance here.
double spoilt(double x) { return x + 1e-3 * std::max(1.0, std::abs(x)); }

// Six significant digits, or two more than the text prints; rounding is 0.
std::string number(double x, int decimals) {
  if (std::abs(x) < kRounding) x = 0.0;
  char text[64];
  if (decimals < 0) {
    std::snprintf(text, sizeof text, "%.6g", x);
  } else {
    std::snprintf(text, sizeof text, "%.*f", decimals, x);
  }
  return text;
}

// The one that differs most from others, where it is in a list.
std::string most_apart(const Numbers& x, const Numbers& others, int decimals) {
  if (x.size() != others.size() || x.size() == 1) return {};
  std::size_t most = 0;
  const auto apart = [&](std::size_t i) { return std::abs(x[i] - others[i]); };
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (apart(i) > apart(most) + kRounding) most = i;
  }
  return number(x[most], decimals) + " [" + std::to_string(most) + "]";
}

// Up to three numbers from `first`, and how many there are.
std::string shown(const Numbers& x, int decimals, std::size_t first) {
  if (x.size() <= 3) first = 0;
  std::string out = first > 0 ? "[" + std::to_string(first) + "] " : "";
  for (std::size_t i = first; i < std::min(x.size(), first + 3); ++i) {
    out += (i > first ? ", " : "") + number(x[i], decimals);
  }
  return x.size() > 3 ? out + ", ... (" + std::to_string(x.size()) + ")" : out;
}

void spoil_item(Item& item) {
  const bool errs = !item.errs.empty();
  Numbers& wrong = errs && item.corrected ? *item.corrected : item.text;
  if (errs && !item.corrected) {
    wrong = item.posenc;
  } else {
    for (double& x : wrong) x = spoilt(x);
  }
}

bool within(const Item& item, const Numbers& numbers) {
  // Half a unit of the last decimal, and what its half itself is off by.
  const double tolerance = item.decimals < 0 ? item.tolerance : 0.5 * std::pow(10.0, -item.decimals) * (1 + 1e-9);
  return agree(numbers, item.posenc, tolerance);
}

}  // namespace

bool agree(const Numbers& a, const Numbers& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= tolerance) || !std::isfinite(a[i])) return false;
  }
  return true;
}

void Report::begin(std::string_view name, std::string_view title) { titles.emplace_back(name, title); }

void Report::add(Item item) {
  if (spoil_) spoil_item(item);
  const bool errs = !item.errs.empty();
  bool failed = within(item, item.text) == errs;
  if (item.corrected) failed = failed || !within(item, *item.corrected);
  if (item.without) failed = failed || within(item, *item.without);

  const int more = item.decimals < 0 ? -1 : item.decimals + 2;
  const auto show = [&](const Numbers& x, const Numbers& others, int decimals) {
    const std::string apart = errs || failed ? most_apart(x, others, decimals) : "";
    return apart.empty() ? shown(x, decimals, item.first) : apart;
  };
  Row row{.text_name = titles.back().first,
          .item = std::string(item.item),
          .what = std::string(item.what),
          .text = item.said.empty() ? show(item.text, item.posenc, item.decimals) : std::string(item.said),
          .posenc = show(item.posenc, item.text, more),
          .by = std::string(item.by),
          .verdict = failed                   ? "DIFFERS"
                     : errs                   ? "errs"
                     : item.condition.empty() ? "agrees"
                                              : "agrees if",
          .remark = std::string(errs ? item.errs : item.condition),
          .failed = failed};
  rows.push_back(std::move(row));
}

void print(const Report& report, std::ostream& out) {
  const auto padded = [](std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
  };
  for (const auto& [name, title] : report.titles) {
    out << (name == report.titles.front().first ? "" : "\n") << "Text " << name << ": " << title << "\n\n";
    for (const Row& row : report.rows) {
      if (row.text_name != name) continue;
      out << padded(row.item, 18) << ' ' << row.what << '\n';
      out << "  text    " << padded(row.text, 44) << row.verdict << (row.remark.empty() ? "" : ": ") << row.remark
          << '\n';
      out << "  posenc  " << padded(row.posenc, 44) << row.by << '\n';
    }
  }
  const auto count = [&](auto&& of) { return std::count_if(report.rows.begin(), report.rows.end(), of); };
  out << '\n'
      << report.rows.size() << (report.rows.size() == 1 ? " row: " : " rows: ")
      << count([](const Row& row) { return row.verdict == "agrees"; }) << " agree, "
      << count([](const Row& row) { return row.verdict == "agrees if"; }) << " agree under a condition, in "
      << count([](const Row& row) { return row.verdict == "errs"; }) << " the text errs, "
      << count([](const Row& row) { return row.failed; }) << " differ\n";
}

void print_tsv(const Report& report, std::ostream& out) {
  for (const Row& row : report.rows) {
    out << row.text_name << '\t' << row.item << '\t' << row.text << '\t' << row.posenc << '\t' << row.verdict << '\n';
  }
}

}  // namespace seeds
