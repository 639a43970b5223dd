// One function for each alternative of Figure::content gives its members, as JSON text already (line/json_text.h).
#include "plot/figure_json.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "line/json_text.h"

namespace posenc::tool {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string strings(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(json_string(text));
  return json_array(out);
}

std::string number_or_null(std::optional<double> value) { return value ? json_number(*value) : "null"; }

// ---- heat maps ----

// `first` where rows or columns are numbered from there on, `names` where each has one.
std::string axis_json(const Cells& cells) {
  return json_object({{"label", json_string(cells.label)},
                      cells.names.empty() ? std::pair<std::string, std::string>{"first", json_number(cells.first)}
                                          : std::pair<std::string, std::string>{"names", strings(cells.names)}});
}

// [rows, columns], an array for each row.
std::string rows_json(const HeatMap& map, std::int64_t columns) {
  std::vector<std::string> rows;
  std::vector<std::string> row;
  for (const double value : map.values) {
    row.push_back(json_number(value));
    if (std::ssize(row) == columns) rows.push_back(json_array(std::exchange(row, {})));
  }
  return json_array(rows);
}

// `null` says in words what a null among the values stands for; `least` null: the values decide.
Members members(const HeatMaps& heat) {
  std::vector<std::string> maps;
  for (const HeatMap& map : heat.maps) {
    maps.push_back(json_object({{"name", json_string(map.name)}, {"rows", rows_json(map, heat.columns)}}));
  }
  return {{"row", axis_json(heat.row)},
          {"column", axis_json(heat.column)},
          {"value", json_string(heat.value)},
          {"least", number_or_null(heat.least)},
          {"square", heat.square ? "true" : "false"},
          {"null", json_string(heat.nothing)},
          {"maps", json_array(maps)}};
}

// ---- curves ----

std::string_view name(CurveStyle style) {
  switch (style) {
    case CurveStyle::line: return "line";
    case CurveStyle::dashes: return "dashes";
    case CurveStyle::steps: return "steps";
    case CurveStyle::dots: return "dots";
  }
  return {};
}

std::string axis_json(const Scale& scale) {
  return json_object({{"label", json_string(scale.label)},
                      {"spacing", json_string(scale.logarithmic ? "logarithmic" : "linear")},
                      {"least", number_or_null(scale.least)},
                      {"most", number_or_null(scale.most)}});
}

// A mark has a member x or a member y: the axis that its number belongs to.
Members members(const Curves& curves) {
  std::vector<std::string> all;
  for (const Curve& curve : curves.curves) {
    std::vector<std::string> points;
    for (const Point& point : curve.points) points.push_back(json_array({json_number(point.x), json_number(point.y)}));
    all.push_back(json_object({{"name", json_string(curve.name)},
                               {"key", json_string(curve.key)},
                               {"style", json_string(name(curve.style))},
                               {"points", json_array(points)}}));
  }
  std::vector<std::string> marks;
  for (const Mark& mark : curves.marks) {
    marks.push_back(
        json_object({{"name", json_string(mark.name)}, {mark.of == Mark::Of::x ? "x" : "y", json_number(mark.at)}}));
  }
  return {{"x", axis_json(curves.x)},
          {"y", axis_json(curves.y)},
          {"curves", json_array(all)},
          {"ordered", curves.ordered ? "true" : "false"},
          {"marks", json_array(marks)}};
}

// ---- dials ----

Members members(const Dials& dials) {
  std::vector<std::string> all;
  for (const Dial& dial : dials.dials) {
    std::vector<std::string> hands;
    for (const Hand& hand : dial.hands) {
      hands.push_back(
          json_object({{"name", json_string(hand.name)}, {"a", json_number(hand.a)}, {"b", json_number(hand.b)}}));
    }
    all.push_back(json_object({{"name", json_string(dial.name)},
                               {"detail", json_string(dial.detail)},
                               {"note", json_string(dial.note)},
                               {"hands", json_array(hands)}}));
  }
  return {{"dials", json_array(all)}};
}

}  // namespace

std::string json_of(const Figure& figure, std::string_view kind) {
  Members all{{"schema_version", "1"},
              {"kind", json_string(kind)},
              {"title", json_string(figure.title)},
              {"detail", json_string(figure.detail)}};
  for (auto& member : std::visit([](const auto& content) { return members(content); }, figure.content)) {
    all.push_back(std::move(member));
  }
  return json_object(all) + "\n";
}

}  // namespace posenc::tool
