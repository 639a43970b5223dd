// The data of a figure as JSON, in one line: what was drawn, before it became colours and pixels.
//
//   all          schema_version, kind, title, detail, and of
//   heat maps    row, column: {label, first or names}; value, least, square, null; maps: [{name, rows: [[number]]}]
//   curves       x, y: {label, spacing, least, most}; curves: [{name, style, points: [[x, y]]}]; ordered; marks
//   dials        dials: [{name, detail, hands: [{name, a, b}]}]
//
// A number has the shortest text that reads back as the same double; one that is not finite is null.
#pragma once

#include <string>
#include <string_view>

#include "plot/figure.h"

namespace posenc::tool {

// `kind`: the word that stands after `posenc plot`. With the newline at the end.
std::string json_of(const Figure& figure, std::string_view kind);

}  // namespace posenc::tool
