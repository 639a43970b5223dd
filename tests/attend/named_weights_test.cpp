// Which tables a layer asks for by name: those that its schemes read, and no others.
#include "posenc/named_weights.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "attend/attending.h"

namespace posenc::test::named_weights_test {
namespace {

// In the order in which they are asked for, with a ? behind what may be omitted.
std::string asked(const LayerPlan& layer) {
  std::string names;
  (void)named_weights(layer, [&](const std::string& name, bool is_needed) {
    names += (names.empty() ? "" : " ") + name + (is_needed ? "" : "?");
    return ConstTensorView{};
  });
  return names;
}

std::string asked_for(ScoreTerm term) { return asked(layer_with(std::move(term))); }

TEST(NamedWeights, AreThoseOfTheScheme) {
  EXPECT_EQ(asked_for(Alibi{}), "");
  EXPECT_EQ(asked_for(T5Bias{}), "table");
  EXPECT_EQ(asked_for(ClippedBias{}), "table");
  EXPECT_EQ(asked_for(GridBias{}), "table");
  EXPECT_EQ(asked_for(ContextualPosition{}), "table");
  EXPECT_EQ(asked_for(Kerple{}), "r1 r2");
  EXPECT_EQ(asked_for(Fire{}), "c threshold hidden.weight hidden.bias? out.weight out.bias?");
  EXPECT_EQ(asked_for(MlpBias{}), "layers.0.weight layers.0.bias? layers.1.weight? layers.1.bias?");
  EXPECT_EQ(asked_for(DecomposedHw{}), "rows columns");
  EXPECT_EQ(asked_for(ShawKeys{.sinusoidal = false}), "table");
  EXPECT_EQ(asked_for(ShawKeys{.sinusoidal = true}), "");
  EXPECT_EQ(asked_for(XlNet{}), "projection content_bias position_bias table? segment_bias? segments?");
  EXPECT_EQ(asked_for(TransformerXl{}), "projection table? content_bias position_bias");
  EXPECT_EQ(asked_for(TransformerXl{.content_bias = false}), "projection table? position_bias");
  EXPECT_EQ(asked_for(TransformerXl{.position_bias = false}), "projection table? content_bias");
}

// Position to position multiplies projected rows by projected rows, so it takes both projections.
TEST(NamedWeights, OfDebertaAreItsProductsProjections) {
  const std::string keys = " keys.weight keys.bias?";
  const std::string queries = " queries.weight queries.bias?";
  for (const bool content_to_position : {false, true}) {
    for (const bool position_to_content : {false, true}) {
      for (const bool both : {false, true}) {
        EXPECT_EQ(asked_for(Deberta{.content_to_position = content_to_position,
                                    .position_to_content = position_to_content,
                                    .position_to_position = both}),
                  "table" + (content_to_position || both ? keys : "") + (position_to_content || both ? queries : ""))
            << content_to_position << position_to_content << both;
      }
    }
  }
}

TEST(NamedWeights, OfALayerAreCountedByTerm) {
  LayerPlan layer = layer_with(T5Bias{});
  layer.score.emplace_back(Alibi{});
  layer.score.emplace_back(Kerple{});
  layer.value = ShawValues{};
  layer.sinks = true;
  EXPECT_EQ(asked(layer), "0.table 2.r1 2.r2 value_table sinks");
  layer.value = ShawValues{.sinusoidal = true};
  layer.sinks = false;
  EXPECT_EQ(asked(layer), "0.table 2.r1 2.r2");
}

}  // namespace
}  // namespace posenc::test::named_weights_test
