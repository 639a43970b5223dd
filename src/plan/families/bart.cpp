// BART, and encoder-decoders for translation and dialogue. One row a family. Facts: the transformers 5.23.0 class named
// by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr InputRule kMarianSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .scaled = true};
constexpr StackRule kM2m100Encoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kEncoderKeys};
constexpr StackRule kM2m100Decoder{.input = kPaddedSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kBartEncoder{
    .name = "encoder", .mask = kBothWays, .input = kScaledTableFrom2, .own_keys = kEncoderKeys};
constexpr StackRule kBartDecoder{.input = kScaledTableFrom2, .cross = kEach, .own_keys = kDecoderKeys};
// Parse 3.5 has no cross attention: what the encoder made stands before the text.
constexpr StackRule kUnnumberedDecoder{.cross = CrossAttention::by_flag, .own_keys = kDecoderKeys};
constexpr InputRule kPegasusXSines{.kind = InputKind::sinusoidal,
                                   .convention = SinusoidConvention::tensor2tensor,
                                   .rows = Rows::unlimited,
                                   .scaled = true};
constexpr MaskRule kPegasusXMask{
    .kind = MaskKind::sparse,
    .detail = {"blocks of block_size tokens, in every second layer shifted by half of one "
               "(stagger_local_blocks); num_global_tokens learned tokens see and are seen by all",
               Sees::by_blocks}};
constexpr StackRule kPegasusXEncoder{
    .name = "encoder", .mask = kPegasusXMask, .input = kPegasusXSines, .own_keys = kEncoderKeys};
constexpr StackRule kPegasusXDecoder{.input = kPegasusXSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr InputRule kTrocrTable{
    .kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .scaled = true, .present_if = &keys::kLearnedRows};
constexpr InputRule kTrocrSines[] = {{.kind = InputKind::sinusoidal,
                                      .convention = SinusoidConvention::tensor2tensor,
                                      .offset_after_padding = true,
                                      .rows = Rows::unlimited,
                                      .scaled = true,
                                      .absent_if = &keys::kLearnedRows}};
constexpr StackRule kTrocrDecoder{
    .input = kTrocrTable, .more_input = kTrocrSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kMarianEncoder{
    .name = "encoder", .mask = kBothWays, .input = kMarianSines, .own_keys = kEncoderKeys};
constexpr StackRule kMarianDecoder{.input = kMarianSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kBlenderbotEncoder{
    .name = "encoder", .mask = kBothWays, .input = kScaledTable, .own_keys = kEncoderKeys};
constexpr StackRule kBlenderbotDecoder{.input = kScaledTable, .cross = kEach, .own_keys = kDecoderKeys};

}  // namespace

std::span<const Family> bart_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "bart", .model_types = "bart mvp plbart", .class_stems = "Bart Mvp PLBart", .main = kBartDecoder,
     .encoder = &kBartEncoder, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "mbart", .class_stems = "MBart", .main = kBartDecoder, .encoder = &kBartEncoder, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "nemotron_parse_decoder", .class_stems = "MBart", .main = kUnnumberedDecoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "pegasus_x", .class_stems = "PegasusX", .main = kPegasusXDecoder, .encoder = &kPegasusXEncoder,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "pp_formulanet_text", .class_stems = "PPFormulaNetText", .main = kBartDecoder, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "trocr", .class_stems = "TrOCR", .main = kTrocrDecoder, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "marian", .class_stems = "Marian MarianMT", .main = kMarianDecoder, .encoder = &kMarianEncoder,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "pegasus", .class_stems = "Pegasus", .main = kMarianDecoder, .encoder = &kMarianEncoder, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "blenderbot", .model_types = "blenderbot blenderbot-small", .class_stems = "Blenderbot BlenderbotSmall",
     .main = kBlenderbotDecoder, .encoder = &kBlenderbotEncoder, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "m2m_100", .model_types = "m2m_100 fsmt nllb-moe", .class_stems = "M2M100 FSMT NllbMoe",
     .main = kM2m100Decoder, .encoder = &kM2m100Encoder, .scales = false, .rotary_layers = kNoRotaryLayer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
