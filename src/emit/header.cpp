#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/text.h"
#include "posenc/version.h"

namespace posenc::code {

std::string order_of_calls(const Recipe& recipe) {
  if (!recipe.rotation) return "There is one function, attention.";
  std::string text = "In this order: cos_sin makes the table of some positions, rotate applies it to q";
  text += recipe.rotates_values ? ", k and v" : " and k";
  if (recipe.norm_follows) text += ", the norm is yours";
  text += ", attention makes the output";
  if (recipe.unrotates_output) text += ", and rotate_back, with the table of the queries, turns that back";
  return text + ". Keys of a cache are rotated once, by their own positions.";
}

std::string header(const Recipe& recipe, std::string_view mark, std::string_view language, std::string_view use) {
  Lines out;
  for (const std::string& line : recipe.heading) out.comment(mark, line);
  const std::string end(mark.substr(0, mark.find_last_not_of(' ') + 1));
  out.add(end);
  // Name and text in two columns.
  constexpr std::size_t kNames = 10;
  for (const auto& [fact, text] : recipe.facts) {
    std::string first = fact;
    first.resize(kNames, ' ');
    for (const std::string& line : wrapped(text, kColumns - mark.size() - kNames - 2)) {
      out.add(std::string(mark) + "  " + first + line);
      first.assign(kNames, ' ');
    }
  }
  if (!recipe.beside.empty()) {
    out.add(end);
    out.comment(mark, "Beside it, and not here: " + joined(recipe.beside, "; ") + ".");
  }
  out.add(end);
  out.comment(mark, use);
  out.add(end);
  out.comment(mark,
              formatted("{}, written by posenc {}.{} to be read, not to be fast. A comment behind a number says where "
                        "it comes from: a key of the model's file, or the default that holds. Do with this file what "
                        "you like, under any licence; it comes without warranty.",
                        language, POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR));
  return out.take();
}

}  // namespace posenc::code
