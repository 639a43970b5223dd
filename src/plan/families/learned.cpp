// Encoder-decoders, and decoders that add a table or ALiBi, one row a family. Facts: the transformers 5.23.0 class
// named by the stem; MPT: attn_config as its published code reads it (mosaicml/llm-foundry llmfoundry/models/mpt and
// models/layers/attention.py), where the class drops a key.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kT5Encoders{
    "T5EncoderModel T5ForTokenClassification MT5EncoderModel MT5ForTokenClassification "
    "UMT5EncoderModel UMT5ForTokenClassification"};

// ---- keys of one of two stacks, and keys that a class does not read ----
constexpr OwnKey kHeadWidth[] = {{&keys::kKvHeads}};
constexpr OwnKey kSourceKeys[] = {{&keys::kLayers, "encoder_layers num_hidden_layers"},
                                  {&keys::kHeads, "encoder_attention_heads num_attention_heads"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, "max_source_positions"}};
constexpr OwnKey kTargetKeys[] = {{&keys::kLayers, "decoder_layers"},
                                  {&keys::kHeads, "decoder_attention_heads"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, "max_target_positions"}};
constexpr OwnKey kT5EncoderKeys[] = {{&keys::kLayers, "num_layers num_hidden_layers"}, {&keys::kKvHeads}};
constexpr OwnKey kT5DecoderKeys[] = {{&keys::kLayers, "num_decoder_layers", "num_layers num_hidden_layers"},
                                     {&keys::kKvHeads}};
constexpr OwnKey kMptKeys[] = {{&keys::kHeadDim}};
constexpr OwnKey kGptNeoKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kWindow, keys::kWindowSize.names}};

// ---- what is added, and what is seen ----
constexpr InputRule kTableFrom2{.kind = InputKind::learned, .offset = 2, .rows = Rows::beside};
constexpr InputRule kScaledTableFrom2{.kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .scaled = true};
constexpr InputRule kSinesFrom2{.kind = InputKind::sinusoidal,
                                .convention = SinusoidConvention::tensor2tensor,
                                .offset = 2,
                                .rows = Rows::unlimited,
                                .scaled = true};
constexpr InputRule kMarianSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .scaled = true};
constexpr InputRule kWhisperSines{.kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper};
constexpr InputRule kMusicgenSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::musicgen, .rows = Rows::unlimited, .scaled = true};
constexpr InputRule kTableIfSaid{.kind = InputKind::learned, .present_if = &keys::kLearnedInput};

constexpr MaskRule kPrefixIfSaid{.prefix_if = &keys::kPrefix};
constexpr MaskRule kImageFirst{.kind = MaskKind::prefix,
                               .detail = "image tokens first, they see each other, text is causal"};
constexpr ScoreRule kT5PerLayer{.kind = ScoreKind::t5, .table_per_layer = true};
constexpr ScoreRule kAlibiTerm{.kind = ScoreKind::alibi};
constexpr ScoreRule kAlibiColumn{.kind = ScoreKind::alibi, .form = AlibiForm::column};

// ---- stacks: the encoder of each pair, then the decoder ----

constexpr StackRule kT5Encoder{.name = "encoder", .mask = kBothWays, .score = kSharedT5, .own_keys = kT5EncoderKeys};
constexpr StackRule kT5Decoder{.score = kSharedT5, .cross = kEach, .own_keys = kT5DecoderKeys};
constexpr StackRule kUmt5Encoder{
    .name = "encoder", .mask = kBothWays, .score = kT5PerLayer, .own_keys = kT5EncoderKeys};
constexpr StackRule kUmt5Decoder{.score = kT5PerLayer, .cross = kEach, .own_keys = kT5DecoderKeys};
constexpr StackRule kM2m100Encoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kEncoderKeys};
constexpr StackRule kM2m100Decoder{.input = kPaddedSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kBartEncoder{
    .name = "encoder", .mask = kBothWays, .input = kScaledTableFrom2, .own_keys = kEncoderKeys};
constexpr StackRule kBartDecoder{.input = kScaledTableFrom2, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kMarianEncoder{
    .name = "encoder", .mask = kBothWays, .input = kMarianSines, .own_keys = kEncoderKeys};
constexpr StackRule kMarianDecoder{.input = kMarianSines, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kBlenderbotEncoder{
    .name = "encoder", .mask = kBothWays, .input = kScaledTable, .own_keys = kEncoderKeys};
constexpr StackRule kBlenderbotDecoder{.input = kScaledTable, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kWhisperEncoder{
    .name = "encoder", .mask = kBothWays, .input = kWhisperSines, .own_keys = kSourceKeys};
constexpr StackRule kWhisperDecoder{.input = kTable, .cross = kEach, .own_keys = kTargetKeys};
constexpr StackRule kSpeechToTextEncoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kSourceKeys};
constexpr StackRule kSpeechToTextDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kTargetKeys};

constexpr StackRule kBloomStack{.score = kAlibiColumn, .own_keys = kPlainHeads};
constexpr StackRule kMptStack{.mask = kPrefixIfSaid, .input = kTableIfSaid, .score = kAlibiTerm, .own_keys = kMptKeys};
constexpr StackRule kGpt2Stack{.input = kTable, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
constexpr StackRule kGptNeoStack{.input = kTable, .own_keys = kGptNeoKeys};
constexpr StackRule kOptStack{.input = kTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kGitStack{.mask = kImageFirst, .input = kTable, .own_keys = kPlainHeads};
constexpr StackRule kXglmStack{.input = kSinesFrom2, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
constexpr StackRule kBiogptStack{.input = kScaledTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kMusicgenStack{.input = kMusicgenSines, .cross = kEach, .own_keys = kHeadWidth};
// The prompt stands before the codes and is counted with them.
constexpr StackRule kMelodyStack{.input = kMusicgenSines, .own_keys = kHeadWidth};

// clang-format off
constexpr Family kLearnedFamilies[] = {
    {.name = "t5", .model_types = "t5 switch_transformers", .class_stems = "T5 T5With SwitchTransformers",
     .main = kT5Decoder, .encoder = &kT5Encoder, .encoder_classes = kT5Encoders, .scales = false, .turning = kStill,
     .scale = Scale::one, .needs_length = false},
    {.name = "mt5", .class_stems = "MT5", .main = kT5Decoder, .encoder = &kT5Encoder, .encoder_classes = kT5Encoders,
     .scales = false, .turning = kStill, .scale = Scale::one, .needs_length = false},
    {.name = "umt5", .class_stems = "UMT5", .main = kUmt5Decoder, .encoder = &kUmt5Encoder,
     .encoder_classes = kT5Encoders, .scales = false, .turning = kStill, .scale = Scale::one, .needs_length = false},
    {.name = "pop2piano", .class_stems = "Pop2Piano", .main = kT5Decoder, .encoder = &kT5Encoder, .scales = false,
     .turning = kStill, .scale = Scale::one, .needs_length = false},
    {.name = "m2m_100", .model_types = "m2m_100 fsmt nllb-moe", .class_stems = "M2M100 FSMT NllbMoe",
     .main = kM2m100Decoder, .encoder = &kM2m100Encoder, .scales = false, .turning = kStill},
    {.name = "bart", .model_types = "bart mvp plbart", .class_stems = "Bart Mvp PLBart", .main = kBartDecoder,
     .encoder = &kBartEncoder, .scales = false, .turning = kStill},
    {.name = "mbart", .class_stems = "MBart", .main = kBartDecoder, .encoder = &kBartEncoder, .scales = false,
     .turning = kStill},
    {.name = "marian", .class_stems = "Marian MarianMT", .main = kMarianDecoder, .encoder = &kMarianEncoder,
     .scales = false, .turning = kStill},
    {.name = "pegasus", .class_stems = "Pegasus", .main = kMarianDecoder, .encoder = &kMarianEncoder, .scales = false,
     .turning = kStill},
    {.name = "blenderbot", .model_types = "blenderbot blenderbot-small", .class_stems = "Blenderbot BlenderbotSmall",
     .main = kBlenderbotDecoder, .encoder = &kBlenderbotEncoder, .scales = false, .turning = kStill},
    {.name = "whisper", .class_stems = "Whisper", .main = kWhisperDecoder, .encoder = &kWhisperEncoder,
     .encoder_classes = "WhisperForAudioClassification", .scales = false, .turning = kStill},
    {.name = "speech_to_text", .class_stems = "Speech2Text", .main = kSpeechToTextDecoder, .encoder = &kSpeechToTextEncoder,
     .scales = false, .turning = kStill},
    {.name = "bloom", .class_stems = "Bloom", .own_names = "n_embed", .main = kBloomStack, .scales = false,
     .turning = kStill, .misleading_keys = "offset_alibi", .needs_length = false},
    {.name = "mpt", .class_stems = "Mpt MPT", .pairing = Pairing::half,
     .own_names = "d_model n_heads n_layers max_seq_len", .nested = "attn_config", .main = kMptStack,
     .kv_heads = KvHeads::by_attention_kind, .scales = false, .scheme = Scheme::mpt, .scale = Scale::softmax_scale,
     .qk_norm = QkNormRule{.norm = kLayerNormAcrossHeads, .switch_key = "qk_ln"}, .misleading_keys = "learned_pos_emb",
     .undecided_keys = "block_overrides sliding_window_size attn_logit_softcapping"},
    {.name = "gpt2", .model_types = "gpt2 imagegpt openai-gpt", .class_stems = "GPT2 ImageGPT OpenAIGPT",
     .own_names = "n_embd n_head n_layer n_positions", .main = kGpt2Stack, .scales = false, .turning = kStill,
     .scale = Scale::switched},
    {.name = "gpt_bigcode", .class_stems = "GPTBigCode", .own_names = "n_embd n_head n_layer n_positions",
     .main = kGpt2Stack, .kv_heads = KvHeads::one_where_multi_query, .scales = false, .turning = kStill,
     .scale = Scale::switched},
    {.name = "gpt_neo", .class_stems = "GPTNeo", .main = kGptNeoStack, .scales = false, .turning = kStill,
     .windows = Windows::attention_types, .scale = Scale::one},
    {.name = "opt", .class_stems = "OPT", .main = kOptStack, .scales = false, .turning = kStill},
    {.name = "git", .class_stems = "Git", .main = kGitStack, .scales = false, .turning = kStill},
    {.name = "xglm", .class_stems = "XGLM", .main = kXglmStack, .scales = false, .turning = kStill},
    {.name = "biogpt", .class_stems = "BioGpt", .main = kBiogptStack, .scales = false, .turning = kStill},
    {.name = "musicgen_decoder", .class_stems = "Musicgen", .main = kMusicgenStack, .scales = false, .turning = kStill},
    {.name = "musicgen_melody_decoder", .class_stems = "MusicgenMelody", .main = kMelodyStack, .scales = false,
     .turning = kStill},
};
// clang-format on

}  // namespace

std::span<const Family> learned_families() noexcept { return kLearnedFamilies; }

}  // namespace posenc::plan
