// Detectors of objects in images, and decoders of masks: encoders of an image's cells and decoders of object queries,
// which add positions in every layer (DETR, arXiv 2005.12872; SAM, arXiv 2304.02643), and some of which sample values
// at places that they make of the query (Deformable DETR, arXiv 2010.04159).
//
// A row has a stack's keys and the attentions of one of its blocks, in their order. Facts: the transformers 5.23.0
// class of the model type.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/families/class_defaults.h"
#include "plan/families/row_parts.h"
#include "plan/towers/towers.h"

namespace posenc::plan {

// Of what is added.
enum class AddedWhat : std::uint8_t {
  image,             // sines over the image's size, or tables of its rows and columns: kPositionType
  image_sines,       // sines over the image's size
  warm_image,        // sines over the image's size, of kSinesHeight and kSinesWidth
  plain_image,       // sines of cells, of kSinesBase; none where kEvalSize is a number
  queries,           // a learned row for each object query
  queries_but_last,  // the same without the last, which is the task's
  phrase_sines,      // sines over the tokens of a phrase
  levels,            // a learned row for each of the three levels of the image's features
  centres,           // sines of a predicted box' centre
  boxes,             // a learned perceptron of the sines of a predicted box
  coordinates,       // a learned perceptron of its four numbers
  fourier_image,     // random Fourier features of cells
  fourier_points,    // of points and corners that are given, with a learned row for their kind
  masks,             // a learned row for each mask, and one for their quality
  masks_and_object,  // and one for whether there is an object
  masks_and_hq,      // or one for the mask of high quality
};
enum class InBlocks : std::uint8_t { all, first, others };

struct AddedRule {
  AddedWhat what;
  AddedTo to = AddedTo::queries_and_keys;
  AddedHow how = AddedHow::before_projection;
  bool gated = false;
  InBlocks in = InBlocks::all;
  const Key* in_all_if = nullptr;  // where this flag is true, in all
};

// Channels of a head, of those that the width has for each.
enum class HeadWidth : std::uint8_t { whole, twice, half, downsampled, inner };  // inner: half of kEncoderInner

struct AttentionRule {
  LayerKind kind = LayerKind::attention;
  std::span<const AddedRule> added = {};
  HeadWidth width = HeadWidth::whole;
  std::string_view sees = {};  // which keys, where not all
  bool half_heads = false;
};

struct DetectorStack {
  StackRule rule;  // its name, and its keys
  std::span<const AttentionRule> block;
  std::span<const AttentionRule> last = {};  // behind all blocks
  const Key* times = nullptr;                // a list: for each entry as many blocks
  const Key* heads = &keys::kHeads;
  const Key* width = &keys::kHidden;
  std::int64_t uncounted = 0;  // of the layers that the key says so many are no blocks
};

struct Detector {
  Family family;
  std::span<const DetectorStack> stacks;
  bool has_backbone = false;          // kBackbone
  const Key* undecided_if = nullptr;  // a flag
  std::string_view undecided = {};    // what is not known where it is true
};

namespace {

constexpr AttentionRule kDeformable{.kind = LayerKind::deformable_attention};
constexpr LayerKind kCross = LayerKind::cross_attention;
constexpr AddedTo kQueries = AddedTo::queries;
constexpr AddedTo kKeys = AddedTo::keys;
constexpr AddedHow kProjected = AddedHow::projected;
constexpr AddedHow kBeside = AddedHow::beside;

// ---- DETR and its kin ----
constexpr StackRule kEncoder{.name = "encoder", .own_keys = kEncoderKeys};
constexpr StackRule kDecoder{.name = "decoder", .own_keys = kDecoderKeys};
constexpr AddedRule kImage[] = {{AddedWhat::image}};
constexpr AddedRule kObjects[] = {{AddedWhat::queries}};
constexpr AddedRule kObjectsOnImage[] = {{AddedWhat::queries, kQueries}, {AddedWhat::image, kKeys}};
constexpr AttentionRule kImageBlock[] = {{.added = kImage}};
constexpr AttentionRule kObjectBlock[] = {{.added = kObjects}, {.kind = kCross, .added = kObjectsOnImage}};
constexpr DetectorStack kDetr[] = {{kEncoder, kImageBlock}, {kDecoder, kObjectBlock}};
// MaskFormer's decoder is DETR's, whatever that would add to the image.
constexpr AddedRule kObjectsOnSines[] = {{AddedWhat::queries, kQueries}, {AddedWhat::image_sines, kKeys}};
constexpr AttentionRule kMaskFormerBlock[] = {{.added = kObjects}, {.kind = kCross, .added = kObjectsOnSines}};
constexpr DetectorStack kMaskFormer[] = {{kDecoder, kMaskFormerBlock}};

// The place is of a centre that a perceptron makes of the query's learned row. From the second block on its sines are
// multiplied by numbers of the hidden states; in the first block the rows are added too.
constexpr AddedRule kOwnObjects[] = {{AddedWhat::queries, AddedTo::queries_and_keys, kProjected}};
constexpr AddedRule kCentresOnImage[] = {
    {AddedWhat::queries, kQueries, kProjected, false, InBlocks::first},
    {AddedWhat::image, kKeys, kProjected, false, InBlocks::first},
    {AddedWhat::centres, kQueries, kBeside, false, InBlocks::first},
    {AddedWhat::centres, kQueries, kBeside, true, InBlocks::others},
    {AddedWhat::image, kKeys, kBeside},
};
constexpr AttentionRule kConditionalBlock[] = {{.added = kOwnObjects},
                                               {.kind = kCross, .added = kCentresOnImage, .width = HeadWidth::twice}};
constexpr DetectorStack kConditional[] = {{kEncoder, kImageBlock}, {kDecoder, kConditionalBlock}};

// DAB: boxes in place of learned rows; its sines are divided by a box' sides and multiplied by numbers of the hidden
// states in every block.
constexpr AddedRule kGatedImage[] = {
    {AddedWhat::warm_image, AddedTo::queries_and_keys, AddedHow::before_projection, true}};
constexpr AddedRule kOwnBoxes[] = {{AddedWhat::boxes, AddedTo::queries_and_keys, kProjected}};
constexpr AddedRule kBoxesOnImage[] = {
    {AddedWhat::boxes, kQueries, kProjected, false, InBlocks::first, &keys::kKeepsQueryPositions},
    {AddedWhat::warm_image, kKeys, kProjected, false, InBlocks::first, &keys::kKeepsQueryPositions},
    {AddedWhat::centres, kQueries, kBeside, true},
    {AddedWhat::warm_image, kKeys, kBeside},
};
constexpr AttentionRule kGatedBlock[] = {{.added = kGatedImage}};
constexpr AttentionRule kBoxBlock[] = {{.added = kOwnBoxes},
                                       {.kind = kCross, .added = kBoxesOnImage, .width = HeadWidth::twice}};
constexpr DetectorStack kDab[] = {{kEncoder, kGatedBlock}, {kDecoder, kBoxBlock}};

constexpr AttentionRule kSampledImage[] = {kDeformable};
constexpr AttentionRule kSampledObjects[] = {{.added = kObjects}, kDeformable};
constexpr DetectorStack kDeformableDetr[] = {{kEncoder, kSampledImage}, {kDecoder, kSampledObjects}};

// RT-DETR and its kin attend within the coarsest levels of a pyramid, and convolve between them.
constexpr OwnKey kInnerKeys[] = {{&keys::kLayers, "encoder_layers"},
                                 {&keys::kHeads, "encoder_attention_heads num_attention_heads"},
                                 {&keys::kKvHeads},
                                 {&keys::kHeadDim}};
constexpr StackRule kInnerEncoder{.name = "encoder", .own_keys = kInnerKeys};
constexpr AddedRule kPlainImage[] = {{AddedWhat::plain_image}};
constexpr AddedRule kBoxNumbers[] = {{AddedWhat::coordinates}};
constexpr AttentionRule kPlainBlock[] = {{.added = kPlainImage}};
constexpr AttentionRule kSampledBoxes[] = {{.added = kBoxNumbers}, kDeformable};
constexpr DetectorStack kRtDetr[] = {
    {kInnerEncoder, kPlainBlock, {}, &keys::kAttendingFeatures, &keys::kHeads, &keys::kInnerWidth},
    {kDecoder, kSampledBoxes}};

constexpr OwnKey kLightKeys[] = {
    {&keys::kLayers, "decoder_layers"}, {&keys::kHeads}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr StackRule kLightDecoder{.name = "decoder", .own_keys = kLightKeys};
constexpr AddedRule kBoxes[] = {{AddedWhat::boxes}};
constexpr AttentionRule kLightBlock[] = {{.added = kBoxes}, kDeformable};
constexpr DetectorStack kLwDetr[] = {{.rule = kLightDecoder, .block = kLightBlock, .heads = &keys::kSelfHeads}};

// ---- Mask2Former, arXiv 2112.01527, and OneFormer, arXiv 2211.06220 ----
// Each block looks at one level of the pyramid, in turn, and then at the other queries.
constexpr OwnKey kLevelKeys[] = {{&keys::kLayers, "encoder_layers"},
                                 {&keys::kHeads, "num_attention_heads"},
                                 {&keys::kHidden, "hidden_dim hidden_size"},
                                 {&keys::kKvHeads},
                                 {&keys::kHeadDim}};
constexpr OwnKey kMaskedKeys[] = {{&keys::kLayers, "decoder_layers num_hidden_layers"},
                                  {&keys::kHeads, "num_attention_heads"},
                                  {&keys::kHidden, "hidden_dim hidden_size"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim}};
constexpr StackRule kPixelDecoder{.name = "pixel_decoder", .own_keys = kLevelKeys};
constexpr StackRule kMaskedDecoder{.name = "decoder", .own_keys = kMaskedKeys};
constexpr AddedRule kObjectsOnLevel[] = {
    {AddedWhat::queries, kQueries}, {AddedWhat::image_sines, kKeys}, {AddedWhat::levels, AddedTo::keys_and_values}};
constexpr AttentionRule kMaskedBlock[] = {
    {.kind = kCross,
     .added = kObjectsOnLevel,
     .sees = "cells of the mask that the block before predicted for the query; all of them where it has none"},
    {.added = kObjects}};
constexpr DetectorStack kMask2Former[] = {{kPixelDecoder, kSampledImage},
                                          {.rule = kMaskedDecoder, .block = kMaskedBlock, .uncounted = 1}};
// Before it OneFormer's queries look at sines of the image's cells, to which the cells' features are added as keys.
constexpr OwnKey kTaskKeys[] = {{&keys::kLayers, "query_dec_layers"},
                                {&keys::kHeads, "num_attention_heads"},
                                {&keys::kHidden, "hidden_dim hidden_size"},
                                {&keys::kKvHeads},
                                {&keys::kHeadDim}};
constexpr StackRule kTaskDecoder{.name = "query_decoder", .own_keys = kTaskKeys};
constexpr AddedRule kTaskObjects[] = {{AddedWhat::queries_but_last}};
constexpr AddedRule kTaskObjectsOnImage[] = {{AddedWhat::queries_but_last, kQueries},
                                             {AddedWhat::image_sines, AddedTo::keys_and_values}};
constexpr AttentionRule kTaskBlock[] = {{.added = kTaskObjects}, {.kind = kCross, .added = kTaskObjectsOnImage}};
constexpr DetectorStack kOneFormer[] = {{kPixelDecoder, kSampledImage},
                                        {kTaskDecoder, kTaskBlock},
                                        {.rule = kMaskedDecoder, .block = kMaskedBlock, .uncounted = 1}};

// ---- Grounding DINO, arXiv 2303.05499 ----
// Image and text look at each other, then the text at itself; the decoder's queries look at both.
constexpr std::string_view kPhrase = "tokens of one phrase, which a special token ends";
constexpr AddedRule kPhraseSines[] = {{AddedWhat::phrase_sines}};
constexpr AddedRule kBoxesOnText[] = {{AddedWhat::boxes, kQueries}};
constexpr AttentionRule kGroundedBlock[] = {{.kind = kCross, .width = HeadWidth::inner, .half_heads = true},
                                            {.kind = kCross, .width = HeadWidth::inner, .half_heads = true},
                                            {.added = kPhraseSines, .sees = kPhrase, .half_heads = true},
                                            kDeformable};
constexpr AttentionRule kGroundedObjects[] = {{.added = kBoxes}, {.kind = kCross, .added = kBoxesOnText}, kDeformable};
constexpr DetectorStack kGrounding[] = {{kEncoder, kGroundedBlock}, {kDecoder, kGroundedObjects}};

// ---- SAM 3: the image's cells look at themselves, then at what is asked for ----
constexpr OwnKey kPromptedKeys[] = {
    {&keys::kLayers, "num_layers"}, {&keys::kHeads, "num_attention_heads"}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr StackRule kPromptedEncoder{.name = "encoder", .own_keys = kPromptedKeys};
constexpr AddedRule kImageSines[] = {{AddedWhat::image_sines}};
constexpr AttentionRule kPromptedBlock[] = {{.added = kImageSines}, {.kind = kCross}};
constexpr DetectorStack kPrompted[] = {{kPromptedEncoder, kPromptedBlock}};

// ---- LXMERT, arXiv 1908.07490: text and regions look at each other, then each at itself ----
constexpr OwnKey kJoinedKeys[] = {
    {&keys::kLayers, "x_layers"}, {&keys::kHeads, "num_attention_heads"}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr StackRule kJoinedStack{.name = "joined", .own_keys = kJoinedKeys};
constexpr AttentionRule kJoinedBlock[] = {{.kind = kCross}, {.kind = kCross}, {}, {}};
constexpr DetectorStack kJoined[] = {{kJoinedStack, kJoinedBlock}};

// ---- SAM: tokens and prompts look at themselves, at the image, and the image at them ----
// To queries of tokens, and to keys of tokens, is added what the tokens were at first.
constexpr StackRule kMaskDecoder{.name = "mask_decoder", .own_keys = kPlainHeads};

template <AddedWhat tokens>
struct Sam {
  static constexpr AddedRule kTokens[] = {
      {tokens, AddedTo::queries_and_keys, AddedHow::before_projection, false, InBlocks::others},
      {AddedWhat::fourier_points, AddedTo::queries_and_keys, AddedHow::before_projection, false, InBlocks::others}};
  static constexpr AddedRule kOnImage[] = {
      {tokens, kQueries}, {AddedWhat::fourier_points, kQueries}, {AddedWhat::fourier_image, kKeys}};
  static constexpr AddedRule kOnTokens[] = {
      {AddedWhat::fourier_image, kQueries}, {tokens, kKeys}, {AddedWhat::fourier_points, kKeys}};
};
// SAM's blocks have half of the channels in cross attention, whatever the key says, which is for the last one.
template <AddedWhat tokens, HeadWidth inner>
constexpr AttentionRule kTwoWays[] = {{.added = Sam<tokens>::kTokens},
                                      {.kind = kCross, .added = Sam<tokens>::kOnImage, .width = inner},
                                      {.kind = kCross, .added = Sam<tokens>::kOnTokens, .width = inner}};
template <AddedWhat tokens>
constexpr AttentionRule kAtLast[] = {{.kind = kCross, .added = Sam<tokens>::kOnImage, .width = HeadWidth::downsampled}};
template <AddedWhat tokens, HeadWidth inner>
constexpr DetectorStack kMasks[] = {{kMaskDecoder, kTwoWays<tokens, inner>, kAtLast<tokens>}};

constexpr double kSinesOfDetr = 10000;

constexpr Family detector(Names types) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = Pairing::half};
}

constexpr std::string_view kTwoStages = "the sines of boxes that its encoder proposes";

// clang-format off
constexpr Detector kDetectors[] = {
    {detector("detr table-transformer"), kDetr, true},
    {detector("maskformer_decoder"), kMaskFormer},
    {detector("conditional_detr"), kConditional, true},
    {detector("dab-detr"), kDab, true},
    {detector("deformable_detr"), kDeformableDetr, true, &keys::kTwoStages, kTwoStages},
    {detector("rt_detr rt_detr_v2 d_fine deimv2 pp_doclayout_v3 pp_doclayout_v4"), kRtDetr, true},
    {detector("lw_detr rf_detr"), kLwDetr, true},
    {detector("mask2former"), kMask2Former, true},
    {detector("oneformer"), kOneFormer, true},
    {detector("grounding-dino mm-grounding-dino"), kGrounding, true},
    {detector("sam3_detr_encoder sam3_lite_text_detr_encoder"), kPrompted},
    {{.name = "lxmert", .model_types = "lxmert_joined", .class_stems = {}}, kJoined},
    {detector("sam_mask_decoder"), kMasks<AddedWhat::masks, HeadWidth::half>},
    {detector("sam_hq_mask_decoder"), kMasks<AddedWhat::masks_and_hq, HeadWidth::half>},
    {detector("sam2_mask_decoder sam3_tracker_mask_decoder"),
     kMasks<AddedWhat::masks_and_object, HeadWidth::downsampled>},
};
// clang-format on

class DetectorReader {
 public:
  DetectorReader(ConfigScope& scope, const DetectorStack& row, std::int64_t room)
      : scope_(scope), row_(row), room_(room), own_(family_default(scope.family())) {}

  StackFacts read() {
    StackFacts stack{.name = std::string(row_.rule.name)};
    const std::int64_t room = std::max<std::int64_t>((room_ - std::ssize(row_.last)) / std::ssize(row_.block), 1);
    const Sourced<std::int64_t> layers = scope_.required_size(keys::kLayers, {1 + row_.uncounted, room});
    const std::int64_t blocks =
        (layers.value - row_.uncounted) * read_times(room / std::max<std::int64_t>(layers.value, 1));
    heads_ = scope_.required_size(*row_.heads, {1, kMaxHeads});
    width_ = scope_.required_integer(*row_.width, {1, kMaxHiddenSize});
    if (scope_.reader().failed()) return stack;
    if (width_.value % heads_.value != 0) {
      scope_.fail(*row_.width, ErrorKind::not_divisible, formatted("a multiple of the {} heads", heads_.value));
    } else if (2 * (width_.value / heads_.value) > kMaxHeadDim) {
      scope_.fail(*row_.width, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim / 2));
    }
    if (scope_.reader().failed()) return stack;
    stack.count_from = layers.from;
    for (const InBlocks in : {InBlocks::first, InBlocks::others}) {
      std::vector<LayerFacts> block;
      for (const AttentionRule& rule : row_.block) block.push_back(layer_of(rule, in));
      for (std::int64_t i = in == InBlocks::first ? 0 : 1;
           i < (in == InBlocks::first ? std::min<std::int64_t>(blocks, 1) : blocks); ++i) {
        for (const LayerFacts& layer : block) stack.layers.add(layer, i);
      }
    }
    for (const AttentionRule& rule : row_.last) stack.layers.add(layer_of(rule, InBlocks::others), blocks);
    return stack;
  }

 private:
  // How often the blocks are there: once, or once for each entry of a list.
  std::int64_t read_times(std::int64_t most) {
    if (row_.times == nullptr) return 1;
    const std::int64_t times = std::ssize(read_each(scope_, *row_.times, 0, {0, kMaxLayers}).value);
    if (times > most) scope_.fail(*row_.times, ErrorKind::limit, formatted("at most {} layers", kMaxLayers));
    return times > most ? 1 : times;
  }

  LayerFacts layer_of(const AttentionRule& rule, InBlocks in) {
    LayerFacts layer(rule.kind);
    if (rule.kind == LayerKind::deformable_attention) return layer;
    if (rule.half_heads && heads_.value % 2 != 0) {
      scope_.fail(*row_.heads, ErrorKind::not_divisible, "an even number");
      return layer;
    }
    const Sourced<std::int64_t> heads{rule.half_heads ? heads_.value / 2 : heads_.value, heads_.from};
    const std::int64_t of_head = width_.value / heads.value;
    const Sourced<std::int64_t> dim =
        rule.width == HeadWidth::inner ? inner_dim(heads.value) : head_dim(rule.width, of_head);
    const Sourced<std::int64_t> value_dim =
        rule.width == HeadWidth::twice ? Sourced<std::int64_t>{of_head, width_.from} : dim;
    layer.set(facts::kHeads, heads);
    layer.set(facts::kKvHeads, heads.value, "default: as many as heads");
    layer.set(facts::kHeadDim, dim);
    layer.set(facts::kValueDim, value_dim);
    layer.set(facts::kSoftmaxScale, 1 / std::sqrt(static_cast<double>(dim.value)), "default: 1 / sqrt(head_dim)");
    layer.set(facts::kQkNorm, {}, own_);
    Mask mask{.kind = rule.sees.empty() ? MaskKind::bidirectional : MaskKind::sparse};
    mask.detail = rule.sees;
    layer.set(mask, {{"mask/kind", own_}});
    for (const AddedRule& added : rule.added) {
      const bool in_all = added.in == InBlocks::all || (added.in_all_if != nullptr && is_on(*added.in_all_if));
      if (in_all || added.in == in) add(added, layer);
    }
    return layer;
  }

  bool is_on(const Key& flag) { return scope_.flag(flag).value.value_or(false); }

  Sourced<std::int64_t> head_dim(HeadWidth width, std::int64_t of_head) {
    switch (width) {
      case HeadWidth::whole:
      case HeadWidth::inner: break;
      case HeadWidth::twice: return {2 * of_head, width_.from};
      case HeadWidth::half: return divided(of_head, 2, *row_.width);
      case HeadWidth::downsampled: {
        const auto rate = scope_.required_integer(keys::kDownsampled, {1, kMaxHiddenSize});
        return divided(of_head, std::max<std::int64_t>(rate.value, 1), keys::kDownsampled);
      }
    }
    return {of_head, width_.from};
  }

  // Half of what a feed-forward layer has, over so many heads.
  Sourced<std::int64_t> inner_dim(std::int64_t heads) {
    const auto inner = scope_.required_integer(keys::kEncoderInner, {1, 2 * kMaxHiddenSize});
    if (scope_.reader().failed()) return {1, {}};
    const std::int64_t of_head = inner.value / 2 / heads;
    if (inner.value / 2 % heads != 0) {
      scope_.fail(keys::kEncoderInner, ErrorKind::not_divisible, formatted("twice a multiple of {} heads", heads));
    } else if (of_head > kMaxHeadDim) {
      scope_.fail(keys::kEncoderInner, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim));
    }
    return {of_head, inner.from};
  }

  Sourced<std::int64_t> divided(std::int64_t of_head, std::int64_t by, const Key& blamed) {
    if (scope_.reader().failed()) return {1, {}};
    if (of_head % by != 0) {
      scope_.fail(blamed, ErrorKind::not_divisible, formatted("a divisor of the {} channels of a head", of_head));
      return {1, {}};
    }
    return {of_head / by, width_.from};
  }

  void add(const AddedRule& rule, LayerFacts& layer) {
    if (scope_.reader().failed()) return;
    const std::optional<Sourced<InputScheme>> scheme = scheme_of(rule.what);
    if (!scheme) return;
    layer.add(Added{.to = rule.to, .how = rule.how, .gated = rule.gated, .scheme = scheme->value}, scheme->from);
  }

  std::optional<Sourced<InputScheme>> scheme_of(AddedWhat what) {
    switch (what) {
      case AddedWhat::image: return image();
      case AddedWhat::image_sines: return sines({"h", "w"}, kSinesOfDetr, true, PlaceOf::grid, own_);
      case AddedWhat::warm_image: return warm_image();
      case AddedWhat::plain_image: return plain_image();
      case AddedWhat::queries: return rows(keys::kObjectQueries, 0);
      case AddedWhat::queries_but_last: return rows(keys::kObjectQueries, -1);
      case AddedWhat::levels: return Sourced<InputScheme>{LearnedInput{.positions = 3, .tokens = "levels"}, own_};
      case AddedWhat::centres: return sines({"h", "w"}, kSinesOfDetr, false, PlaceOf::boxes, own_);
      case AddedWhat::boxes: {
        auto of_box = sines({"h", "w", "width", "height"}, kSinesOfDetr, false, PlaceOf::boxes, own_);
        std::get<AxisSinesInput>(of_box.value).learned_map = true;
        return of_box;
      }
      case AddedWhat::phrase_sines: return sines({"t"}, kSinesOfDetr, false, PlaceOf::text, own_);
      case AddedWhat::coordinates: return Sourced<InputScheme>{PerceptronInput{}, own_};
      case AddedWhat::fourier_image: return Sourced<InputScheme>{FourierInput{}, own_};
      // Not inside the object, inside, and a box' first and last corner.
      case AddedWhat::fourier_points:
        return Sourced<InputScheme>{FourierInput{.of = PlaceOf::points, .kinds = 4}, own_};
      case AddedWhat::masks: return rows(keys::kMaskOutputs, 2);
      case AddedWhat::masks_and_object:
      case AddedWhat::masks_and_hq: return rows(keys::kMaskOutputs, 3);
    }
    return {};
  }

  Sourced<InputScheme> rows(const Key& key, std::int64_t more) {
    const Sourced<std::int64_t> count = scope_.required_integer(key, {1, kMaxHiddenSize});
    return {LearnedInput{.positions = count.value + more}, count.from};
  }

  // DETR's, unless something else is said: over the image's size, times 2 pi.
  static Sourced<InputScheme> sines(std::vector<std::string> axes, double base, bool over_image, PlaceOf of,
                                    std::string from) {
    return {AxisSinesInput{.axes = std::move(axes),
                           .base = base,
                           .normalised = over_image,
                           .scale = 2 * std::numbers::pi,
                           .offset = over_image ? 1.0 : 0.0,
                           .of = of},
            std::move(from)};
  }

  std::optional<Sourced<InputScheme>> image() {
    const auto place = scope_.find(keys::kPositionType);
    const std::string word(place ? scope_.reader().string(*place).value_or("sine") : "sine");
    const std::string from = place ? place->from : own_;
    if (word == "sine") return sines({"h", "w"}, kSinesOfDetr, true, PlaceOf::grid, from);
    constexpr std::int64_t kTableRows = 50;  // of both tables, in the class
    if (word == "learned") {                 // columns first
      return Sourced<InputScheme>{AxialInput{.shape = {kTableRows, kTableRows},
                                             .combine = AxialCombine::concatenate,
                                             .dims = {width_.value / 2, width_.value / 2}},
                                  from};
    }
    scope_.reader().undecided(formatted("{} is no word that is known.", from), {from});
    return {};
  }

  std::optional<Sourced<InputScheme>> warm_image() {
    const Sourced<double> height = scope_.required_positive(keys::kSinesHeight);
    const Sourced<double> width = scope_.required_positive(keys::kSinesWidth);
    if (scope_.reader().failed()) return {};
    if (height.value != width.value) {
      scope_.reader().undecided(formatted("{} and {} differ: no scheme has two bases.", height.from, width.from),
                                {height.from, width.from});
      return {};
    }
    auto found = sines({"h", "w"}, height.value, true, PlaceOf::grid, height.from);
    if (const auto scale = scope_.number(keys::kSinesScale).value) std::get<AxisSinesInput>(found.value).scale = *scale;
    return found;
  }

  // The class adds nothing where it was told the size of its images: a table that it keeps is not used.
  std::optional<Sourced<InputScheme>> plain_image() {
    const auto size = scope_.find(keys::kEvalSize);
    if (size && !size->value.is_null()) return {};
    const Sourced<double> base = scope_.required_positive(keys::kSinesBase);
    if (scope_.reader().failed()) return {};
    return Sourced<InputScheme>{AxisSinesInput{.interleaved = false, .base = base.value, .normalised = false},
                                base.from};
  }

  ConfigScope& scope_;
  const DetectorStack& row_;
  std::int64_t room_;
  std::string own_;
  Sourced<std::int64_t> heads_{1, {}};
  Sourced<std::int64_t> width_{1, {}};
};

}  // namespace

const Detector* find_detector(std::string_view model_type) noexcept {
  const auto* const row = std::ranges::find_if(
      kDetectors, [&](const Detector& one) { return one.family.model_types.contains(model_type); });
  return row == std::ranges::end(kDetectors) ? nullptr : row;
}

bool has_backbone(const Detector& row) noexcept { return row.has_backbone; }

std::vector<StackFacts> read_detector(ConfigReader& reader, const io::JsonValue& object, std::string_view model_type,
                                      const Detector& row, std::int64_t room) {
  std::vector<StackFacts> stacks;
  for (const DetectorStack& of : row.stacks) {
    const bool has_class =
        find_class_default(model_type, keys::kHidden.name()) || find_class_default(model_type, keys::kHeads.name());
    ConfigScope scope(reader, object, row.family, has_class ? model_type : row.family.name, of.rule);
    if (row.undecided_if != nullptr && scope.flag(*row.undecided_if).value.value_or(false)) {
      reader.undecided(formatted("{}: nothing decides it.", row.undecided), {});
    }
    StackFacts stack = DetectorReader(scope, of, room / std::ssize(row.stacks)).read();
    const bool is_there = !stack.layers.layers().empty();  // no level of the features may attend (RT-DETR)
    if (is_there || reader.failed()) stacks.push_back(std::move(stack));
    if (reader.failed()) break;
  }
  return stacks;
}

}  // namespace posenc::plan
