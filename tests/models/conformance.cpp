#include "models/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "models/arithmetic.h"
#include "models/network.h"
#include "models/spoils.h"
#include "support/model_tolerances.h"

namespace posenc::test {
namespace {

std::size_t stack_named(const Model& model, std::string_view name) {
  const std::vector<Stack>& stacks = model.plan.stacks;
  return static_cast<std::size_t>(std::ranges::find(stacks, name, &Stack::name) - stacks.begin());
}

void put_image(const Case& one, Numbers& x) {
  const auto width = static_cast<std::ptrdiff_t>(x.size() / one.tokens.size());
  auto next = one.image.begin();
  for (std::size_t i = 0; i < one.tokens.size(); ++i) {
    if (one.tokens[i] != one.image_token) continue;
    std::copy(next, next + width, x.begin() + static_cast<std::ptrdiff_t>(i) * width);
    next += width;
  }
}

Numbers answer(Network& network, const Model& model, const Case& one) {
  const auto embedded = [&](std::size_t stack, std::span<const std::int64_t> tokens) {
    return one.rows.empty() ? network.embedded(stack, tokens, one.token_types) : network.embedded(stack, one.rows);
  };
  if (model.plan.stacks.size() == 1) {
    Numbers x = embedded(0, one.tokens);
    if (one.image_token) put_image(one, x);
    return network.read_out(network.hidden(0, {.x = std::move(x), .coordinates = one.coordinates}));
  }
  const std::size_t encoder = stack_named(model, "encoder");
  const std::size_t decoder = stack_named(model, "decoder");
  Numbers all = network.hidden(encoder, {.x = embedded(encoder, one.source)});
  const Numbers hidden = network.hidden(decoder, {.x = network.embedded(decoder, one.tokens), .memory = &all});
  append(all, network.read_out(hidden));
  return all;
}

}  // namespace

Numbers answers(const Published& published, const Model& model, const Setting& setting) {
  Numbers all;
  Setting own = setting;
  for (const Case& one : published.cases) {
    if (own.roundings) ++own.roundings->seed;
    Network network(model, own);
    append(all, answer(network, model, one));
  }
  return all;
}

Numbers published_answers(const Published& published) {
  Numbers all;
  for (const Case& one : published.cases) append(all, one.published);
  return all;
}

double rms_difference(const Numbers& a, const Numbers& b) {
  EXPECT_EQ(a.size(), b.size());
  double square = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square / static_cast<double>(a.size()));
}

double rounding_bound(const Published& published, Roundings arithmetic) {
  const Numbers exact = answers(published, published.model);
  std::vector<Numbers> errors;
  for (std::uint64_t draw = 0; draw < kRoundingDraws; ++draw) {
    arithmetic.seed = 1000 * draw;
    errors.push_back(sum(answers(published, published.model, {.roundings = arithmetic}), exact, -1.0));
  }
  return rms_bound(errors);
}

Conformance conformance(const Checkpoint& checkpoint, const Published& published) {
  const Numbers theirs = published_answers(published);
  const auto differs = [&](const Model& model, const Setting& setting) {
    return rms_difference(answers(published, model, setting), theirs);
  };
  Conformance result{.reference = {.difference = differs(published.model, {}),
                                   .bound = rounding_bound(published, checkpoint.arithmetic),
                                   .where = "reference"}};
  for (const Spoil& spoil : spoils(published.model)) {
    result.spoiled.push_back({spoil.name, differs(spoil.model, {.shift = spoil.shift})});
  }
  if (!rotates(published.model)) return result;
  Roundings in_floats = checkpoint.arithmetic;
  in_floats.angles = 24;
  Measured& kernels = result.kernels.emplace();
  kernels.bound = in_floats == checkpoint.arithmetic ? result.reference.bound : rounding_bound(published, in_floats);
  for (const Isa isa : supported_isas()) {
    for (const std::int64_t start : {0, 1000, -7}) {
      if (start != 0 && scales_queries(published.model)) continue;
      const double difference = differs(published.model, {.way = isa, .shift = {.queries = start, .keys = start}});
      if (difference < kernels.difference) continue;
      kernels.difference = difference;
      kernels.where = name(isa);
    }
  }
  return result;
}

}  // namespace posenc::test
