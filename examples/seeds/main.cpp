// Five texts on position encoding, read beside posenc: docs/seeds.md says what they are and goes through them.
#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "texts.h"

namespace {

constexpr const char* kHelp =
    "usage: seeds [--tsv] [--spoil] [TEXT [ITEM...]]\n"
    "\n"
    "Goes through five texts on position encoding, 000 to 004, and prints for each formula, listing, figure and\n"
    "experiment what the text has, what posenc computes, and whether they agree. With TEXT only that one, with ITEMs\n"
    "(\"(20)\", \"In [46]\") only those. It reads no file. docs/seeds.md has the same as tables.\n"
    "\n"
    "  --tsv    one line a row: text, item, the text's numbers, posenc's, the verdict, with tabs between them\n"
    "  --spoil  makes the text's numbers wrong first: every row must then differ\n"
    "\n"
    "Exit status: 0; 1 where numbers differ that should agree, or agree where the text is said to err; 2 for an\n"
    "argument that is not known.\n";

const std::map<std::string, void (*)(seeds::Report&)> kTexts{{"000", seeds::text_000},
                                                             {"001", seeds::text_001},
                                                             {"002", seeds::text_002},
                                                             {"003", seeds::text_003},
                                                             {"004", seeds::text_004}};

int refuse(const std::string& argument) {
  std::cerr << "seeds: unknown argument " << argument << "\n\n" << kHelp;
  return 2;
}

// Keeps the rows of these items; the first that no row has, or nothing.
std::string keep(seeds::Report& report, const std::set<std::string>& items) {
  for (const std::string& item : items) {
    if (std::none_of(report.rows.begin(), report.rows.end(), [&](const auto& row) { return row.item == item; })) {
      return item;
    }
  }
  std::erase_if(report.rows, [&](const auto& row) { return !items.contains(row.item); });
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  bool tsv = false;
  bool spoil = false;
  std::string text;
  std::set<std::string> items;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument == "--help") return std::cout << kHelp, 0;
    if (argument == "--tsv") {
      tsv = true;
    } else if (argument == "--spoil") {
      spoil = true;
    } else if (!text.empty()) {
      items.insert(argument);
    } else if (kTexts.contains(argument)) {
      text = argument;
    } else {
      return refuse(argument);
    }
  }

  seeds::Report report(spoil);
  for (const auto& [name, walk] : kTexts) {
    if (text.empty() || text == name) walk(report);
  }
  if (!items.empty()) {
    if (const std::string unknown = keep(report, items); !unknown.empty()) return refuse(unknown);
  }
  tsv ? print_tsv(report, std::cout) : print(report, std::cout);
  return std::any_of(report.rows.begin(), report.rows.end(), [](const auto& row) { return row.failed; });
} catch (const std::exception& error) {
  std::cerr << "seeds: " << error.what() << '\n';
  return 1;
}
