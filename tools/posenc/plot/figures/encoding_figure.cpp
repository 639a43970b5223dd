// posenc plot encoding: what the input stage adds, a row a position; or how alike those rows are.
//
// Rows are p_i of posenc/input.h, of a tensor in a file, or of a random table. The embedding multiplier and a learned
// scale are not in them.
#include <variant>
#include <vector>

#include "inspect/layer_choice.h"
#include "inspect/stage_text.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/input_word.h"
#include "plot/normal_numbers.h"
#include "posenc/input.h"
#include "posenc/plan.h"
#include "posenc/reference.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

// ---- rows ----

struct Rows {
  std::string what;  // for the detail line
  std::int64_t channels = 0;
  std::vector<double> values{};  // [positions, channels]
};

// input_row of the schemes that have one.
// `normalised` divides by start + positions, as if the sequence ended with the picture.
struct RowOf {
  const EncodingPlot& plot;

  std::vector<double> operator()(const SinusoidalInput& scheme, std::int64_t place) const {
    return input_row(scheme, plot.channels, static_cast<double>(place));
  }
  std::vector<double> operator()(const IntegerInput& scheme, std::int64_t place) const {
    return input_row(scheme, plot.channels, static_cast<double>(place), plot.start + plot.positions);
  }
  std::vector<double> operator()(const BinaryInput& scheme, std::int64_t place) const {
    return input_row(scheme, plot.channels, place);
  }
  // All others are learned, tables, tiles, convolutions, or of several coordinates.
  template <typename Other>
  std::vector<double> operator()(const Other&, std::int64_t) const {
    throw UsageError{"--model: its position embeddings are learned; name their table with --table FILE:TENSOR"};
  }
};

Rows rows_of_scheme(const EncodingPlot& plot, const InputScheme& scheme) {
  Rows rows{input_text(scheme), plot.channels};
  for (std::int64_t i = 0; i < plot.positions; ++i) {
    const std::int64_t place = plot.start + i;
    const std::vector<double> row = std::visit([&](const auto& s) { return RowOf{plot}(s, place); }, scheme);
    rows.values.insert(rows.values.end(), row.begin(), row.end());
  }
  return rows;
}

// Throws Failure for a tensor without two axes and for too few rows. Where there are fewer channels, all are drawn.
Rows rows_of_table(const EncodingPlot& plot) {
  const TensorWord word{"--table", *plot.table};
  const TensorArgument table = read_tensor_argument(word);
  const ConstTensorView view = table.data.view();
  if (view.rank != 2) {
    refuse(word, table,
           formatted("expected a table [rows, channels], got {}",
                     shape_text({table.data.shape().begin(), table.data.shape().end()})));
  }
  if (plot.start + plot.positions > view.shape[0]) {
    refuse(word, table,
           formatted("it has {} rows: positions {} to {} are not all there", view.shape[0], plot.start,
                     plot.start + plot.positions - 1));
  }
  Rows rows{"learned table " + printable(*plot.table), std::min(plot.channels, view.shape[1])};
  for (std::int64_t i = 0; i < plot.positions; ++i) {
    for (std::int64_t c = 0; c < rows.channels; ++c) {
      rows.values.push_back(reference::element(view, {plot.start + i, c}));
    }
  }
  return rows;
}

// The first scheme of the first stack that has one.
InputScheme scheme_of_model(const EncodingPlot& plot) {
  const Plan plan = plan_of(plot.model->model, {});
  for (const Stack* stack : chosen_stacks(plan, plot.model->stack)) {
    if (!stack->input.empty()) return stack->input.front();
  }
  throw failure(kMalformed, "this model adds no position embeddings");
}

// A learned table before it has learned anything.
constexpr double kInitialSpread = 0.02;  // BERT's and GPT-2's initializer_range
constexpr std::uint64_t kSeed = 1810;    // any, of the first row; BERT's arXiv number begins with it

// A seed for each row, so that a row is the same whichever is the first that is shown.
Rows rows_of_drawn_table(const EncodingPlot& plot) {
  Rows rows{formatted("a learned table as it is drawn before training: mean 0, spread {}", kInitialSpread),
            plot.channels};
  for (std::int64_t place = plot.start; place < plot.start + plot.positions; ++place) {
    for (const double value : normal_numbers(kSeed + static_cast<std::uint64_t>(place), plot.channels)) {
      rows.values.push_back(kInitialSpread * value);
    }
  }
  return rows;
}

// `learned` is no scheme with rows of its own, so it does not go through read_input_scheme.
Rows rows_of(const EncodingPlot& plot) {
  if (plot.table) return rows_of_table(plot);
  if (!plot.model && plot.scheme == "learned") return rows_of_drawn_table(plot);
  return rows_of_scheme(plot, plot.model ? scheme_of_model(plot) : read_input_scheme({"--scheme", plot.scheme}));
}

// Of each row with each.
std::vector<double> products_of(const Rows& rows, std::int64_t positions) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < positions; ++i) {
    for (std::int64_t j = 0; j < positions; ++j) {
      double sum = 0.0;
      for (std::int64_t c = 0; c < rows.channels; ++c) {
        sum += rows.values[static_cast<std::size_t>(i * rows.channels + c)] *
               rows.values[static_cast<std::size_t>(j * rows.channels + c)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace

Figure figure_of(const EncodingPlot& plot) {
  const Rows rows = rows_of(plot);
  const auto first = static_cast<double>(plot.start);
  const Cells position{.label = "position (tokens)", .first = first};
  if (plot.products) {
    return {.title = "How alike the encodings of two positions are",
            .detail = rows.what,
            .content = HeatMaps{.rows = plot.positions,
                                .columns = plot.positions,
                                .row = position,
                                .column = position,
                                .value = "dot product of two rows",
                                .maps = {{.values = products_of(rows, plot.positions)}}}};
  }
  return {.title = "What is added to each token, by position",
          .detail = rows.what,
          .content = HeatMaps{.rows = plot.positions,
                              .columns = rows.channels,
                              .row = position,
                              .column = {.label = "channel"},
                              .value = "value",
                              .square = false,
                              .maps = {{.values = rows.values}}}};
}

}  // namespace posenc::tool
