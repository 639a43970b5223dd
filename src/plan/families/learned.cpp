// Encoder-decoders, and decoders that add a table or ALiBi, one row a family. Facts: the transformers 5.23.0 class
// named by the stem; MPT: attn_config as its published code reads it (mosaicml/llm-foundry llmfoundry/models/mpt and
// models/layers/attention.py), where the class drops a key.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kT5[] = {"t5", "switch_transformers"};
constexpr std::string_view kT5Class[] = {"T5", "T5With", "SwitchTransformers"};
constexpr std::string_view kMt5[] = {"mt5"}, kMt5Class[] = {"MT5"};
constexpr std::string_view kUmt5[] = {"umt5"}, kUmt5Class[] = {"UMT5"};
constexpr std::string_view kM2m100[] = {"m2m_100", "fsmt", "nllb-moe"};
constexpr std::string_view kM2m100Class[] = {"M2M100", "FSMT", "NllbMoe"};
constexpr std::string_view kBart[] = {"bart", "mvp", "plbart"}, kBartClass[] = {"Bart", "Mvp", "PLBart"};
constexpr std::string_view kMbart[] = {"mbart"}, kMbartClass[] = {"MBart"};
constexpr std::string_view kMarian[] = {"marian"}, kMarianClass[] = {"Marian", "MarianMT"};
constexpr std::string_view kPegasus[] = {"pegasus"}, kPegasusClass[] = {"Pegasus"};
constexpr std::string_view kBlenderbot[] = {"blenderbot", "blenderbot-small"};
constexpr std::string_view kBlenderbotClass[] = {"Blenderbot", "BlenderbotSmall"};
constexpr std::string_view kWhisper[] = {"whisper"}, kWhisperClass[] = {"Whisper"};
constexpr std::string_view kSpeechToText[] = {"speech_to_text"}, kSpeechToTextClass[] = {"Speech2Text"};
constexpr std::string_view kBloom[] = {"bloom"}, kBloomClass[] = {"Bloom"};
constexpr std::string_view kMpt[] = {"mpt"}, kMptClass[] = {"Mpt", "MPT"};
constexpr std::string_view kGpt2[] = {"gpt2", "imagegpt", "openai-gpt"};
constexpr std::string_view kGpt2Class[] = {"GPT2", "ImageGPT", "OpenAIGPT"};
constexpr std::string_view kGptBigcode[] = {"gpt_bigcode"}, kGptBigcodeClass[] = {"GPTBigCode"};
constexpr std::string_view kGptNeo[] = {"gpt_neo"}, kGptNeoClass[] = {"GPTNeo"};
constexpr std::string_view kOpt[] = {"opt"}, kOptClass[] = {"OPT"};
constexpr std::string_view kGit[] = {"git"}, kGitClass[] = {"Git"};
constexpr std::string_view kXglm[] = {"xglm"}, kXglmClass[] = {"XGLM"};
constexpr std::string_view kBiogpt[] = {"biogpt"}, kBiogptClass[] = {"BioGpt"};
constexpr std::string_view kMusicgen[] = {"musicgen_decoder"}, kMusicgenClass[] = {"Musicgen"};
constexpr std::string_view kMelody[] = {"musicgen_melody_decoder"}, kMelodyClass[] = {"MusicgenMelody"};
constexpr std::string_view kPop2Piano[] = {"pop2piano"}, kPop2PianoClass[] = {"Pop2Piano"};

constexpr std::string_view kT5Encoders[] = {"T5EncoderModel",   "T5ForTokenClassification",
                                            "MT5EncoderModel",  "MT5ForTokenClassification",
                                            "UMT5EncoderModel", "UMT5ForTokenClassification"};
constexpr std::string_view kWhisperEncoders[] = {"WhisperForAudioClassification"};

constexpr std::string_view kEncoderLayers[] = {"encoder_layers", "num_hidden_layers"};
constexpr std::string_view kEncoderHeads[] = {"encoder_attention_heads", "num_attention_heads"};
constexpr std::string_view kDecoderLayers[] = {"decoder_layers"}, kDecoderHeads[] = {"decoder_attention_heads"};
constexpr std::string_view kSourceLength[] = {"max_source_positions"}, kTargetLength[] = {"max_target_positions"};
constexpr std::string_view kT5EncoderLayers[] = {"num_layers", "num_hidden_layers"};
constexpr std::string_view kT5DecoderLayers[] = {"num_decoder_layers"};
constexpr std::string_view kBloomNames[] = {"n_embed"};
constexpr std::string_view kGpt2Names[] = {"n_embd", "n_head", "n_layer", "n_positions"};
constexpr std::string_view kMptNames[] = {"d_model", "n_heads", "n_layers", "max_seq_len"};

constexpr std::string_view kBloomMisleads[] = {"offset_alibi"};
constexpr std::string_view kMptMisleads[] = {"learned_pos_emb"};
constexpr std::string_view kMptUndecided[] = {"block_overrides", "sliding_window_size", "attn_logit_softcapping"};

// ---- keys of one of two stacks, and keys that a class does not read ----
constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kHeadWidth[] = {{&keys::kKvHeads}};
constexpr OwnKey kEncoderKeys[] = {
    {&keys::kLayers, kEncoderLayers}, {&keys::kHeads, kEncoderHeads}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kDecoderKeys[] = {
    {&keys::kLayers, kDecoderLayers}, {&keys::kHeads, kDecoderHeads}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kSourceKeys[] = {{&keys::kLayers, kEncoderLayers},
                                  {&keys::kHeads, kEncoderHeads},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, kSourceLength}};
constexpr OwnKey kTargetKeys[] = {{&keys::kLayers, kDecoderLayers},
                                  {&keys::kHeads, kDecoderHeads},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, kTargetLength}};
constexpr OwnKey kT5EncoderKeys[] = {{&keys::kLayers, kT5EncoderLayers}, {&keys::kKvHeads}};
constexpr OwnKey kT5DecoderKeys[] = {{&keys::kLayers, kT5DecoderLayers, kT5EncoderLayers}, {&keys::kKvHeads}};
constexpr OwnKey kMptKeys[] = {{&keys::kHeadDim}};
constexpr OwnKey kGptNeoKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kWindow, key_names::kWindowSize}};

// ---- what is added, and what is seen ----
constexpr InputRule kTable{.kind = InputKind::learned};
constexpr InputRule kScaledTable{.kind = InputKind::learned, .scaled = true};
constexpr InputRule kTableFrom2{.kind = InputKind::learned, .offset = 2, .rows = Rows::beside};
constexpr InputRule kScaledTableFrom2{.kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .scaled = true};
constexpr InputRule kPaddedSines{.kind = InputKind::sinusoidal,
                                 .convention = SinusoidConvention::tensor2tensor,
                                 .offset_after_padding = true,
                                 .rows = Rows::unlimited,
                                 .scaled = true};
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

constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
constexpr MaskRule kPrefixIfSaid{.prefix_if = &keys::kPrefix};
constexpr MaskRule kImageFirst{.kind = MaskKind::prefix,
                               .detail = "image tokens first, they see each other, text is causal"};
constexpr ScoreRule kSharedT5{.kind = ScoreKind::t5};
constexpr ScoreRule kT5PerLayer{.kind = ScoreKind::t5, .table_per_layer = true};
constexpr ScoreRule kAlibiTerm{.kind = ScoreKind::alibi};
constexpr ScoreRule kAlibiColumn{.kind = ScoreKind::alibi, .form = AlibiForm::column};

// ---- stacks: the encoder of each pair, then the decoder ----
constexpr CrossAttention kEach = CrossAttention::every_block;

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
constexpr StackRule kSpeechEncoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kSourceKeys};
constexpr StackRule kSpeechDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kTargetKeys};

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

constexpr Pairing kUnused = Pairing::half;  // nothing turns
constexpr Turning kStill = Turning::no_layer;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "t5", .model_types = kT5, .class_stems = kT5Class, .pairing = kUnused, .main = kT5Decoder,
     .encoder = &kT5Encoder, .encoder_classes = kT5Encoders, .scales = false, .turning = kStill,
     .scale = Scale::one, .needs_length = false},
    {.name = "mt5", .model_types = kMt5, .class_stems = kMt5Class, .pairing = kUnused, .main = kT5Decoder,
     .encoder = &kT5Encoder, .encoder_classes = kT5Encoders, .scales = false, .turning = kStill,
     .scale = Scale::one, .needs_length = false},
    {.name = "umt5", .model_types = kUmt5, .class_stems = kUmt5Class, .pairing = kUnused, .main = kUmt5Decoder,
     .encoder = &kUmt5Encoder, .encoder_classes = kT5Encoders, .scales = false,
     .turning = kStill, .scale = Scale::one, .needs_length = false},
    {.name = "pop2piano", .model_types = kPop2Piano, .class_stems = kPop2PianoClass, .pairing = kUnused,
     .main = kT5Decoder, .encoder = &kT5Encoder, .scales = false, .turning = kStill, .scale = Scale::one,
     .needs_length = false},
    {.name = "m2m_100", .model_types = kM2m100, .class_stems = kM2m100Class, .pairing = kUnused,
     .main = kM2m100Decoder, .encoder = &kM2m100Encoder, .scales = false, .turning = kStill},
    {.name = "bart", .model_types = kBart, .class_stems = kBartClass, .pairing = kUnused, .main = kBartDecoder,
     .encoder = &kBartEncoder, .scales = false, .turning = kStill},
    {.name = "mbart", .model_types = kMbart, .class_stems = kMbartClass, .pairing = kUnused, .main = kBartDecoder,
     .encoder = &kBartEncoder, .scales = false, .turning = kStill},
    {.name = "marian", .model_types = kMarian, .class_stems = kMarianClass, .pairing = kUnused, .main = kMarianDecoder,
     .encoder = &kMarianEncoder, .scales = false, .turning = kStill},
    {.name = "pegasus", .model_types = kPegasus, .class_stems = kPegasusClass, .pairing = kUnused,
     .main = kMarianDecoder, .encoder = &kMarianEncoder, .scales = false, .turning = kStill},
    {.name = "blenderbot", .model_types = kBlenderbot, .class_stems = kBlenderbotClass, .pairing = kUnused,
     .main = kBlenderbotDecoder, .encoder = &kBlenderbotEncoder, .scales = false, .turning = kStill},
    {.name = "whisper", .model_types = kWhisper, .class_stems = kWhisperClass, .pairing = kUnused,
     .main = kWhisperDecoder, .encoder = &kWhisperEncoder, .encoder_classes = kWhisperEncoders, .scales = false,
     .turning = kStill},
    {.name = "speech_to_text", .model_types = kSpeechToText, .class_stems = kSpeechToTextClass, .pairing = kUnused,
     .main = kSpeechDecoder, .encoder = &kSpeechEncoder, .scales = false, .turning = kStill},
    {.name = "bloom", .model_types = kBloom, .class_stems = kBloomClass, .pairing = kUnused, .own_names = kBloomNames,
     .main = kBloomStack, .scales = false, .turning = kStill, .misleading_keys = kBloomMisleads, .needs_length = false},
    {.name = "mpt", .model_types = kMpt, .class_stems = kMptClass, .pairing = Pairing::half, .own_names = kMptNames,
     .nested = "attn_config", .main = kMptStack, .kv_heads = KvHeads::by_attention_kind, .scales = false,
     .scheme = Scheme::mpt,
     .scale = Scale::softmax_scale, .qk_norm = QkNormRule{.norm = kLayerNormAcrossHeads, .switch_key = "qk_ln"},
     .misleading_keys = kMptMisleads, .undecided_keys = kMptUndecided},
    {.name = "gpt2", .model_types = kGpt2, .class_stems = kGpt2Class, .pairing = kUnused, .own_names = kGpt2Names,
     .main = kGpt2Stack, .scales = false, .turning = kStill, .scale = Scale::switched},
    {.name = "gpt_bigcode", .model_types = kGptBigcode, .class_stems = kGptBigcodeClass, .pairing = kUnused,
     .own_names = kGpt2Names, .main = kGpt2Stack, .kv_heads = KvHeads::one_where_multi_query, .scales = false,
     .turning = kStill, .scale = Scale::switched},
    {.name = "gpt_neo", .model_types = kGptNeo, .class_stems = kGptNeoClass, .pairing = kUnused, .main = kGptNeoStack,
     .scales = false, .turning = kStill, .windows = Windows::attention_types, .scale = Scale::one},
    {.name = "opt", .model_types = kOpt, .class_stems = kOptClass, .pairing = kUnused, .main = kOptStack,
     .scales = false, .turning = kStill},
    {.name = "git", .model_types = kGit, .class_stems = kGitClass, .pairing = kUnused, .main = kGitStack,
     .scales = false, .turning = kStill},
    {.name = "xglm", .model_types = kXglm, .class_stems = kXglmClass, .pairing = kUnused, .main = kXglmStack,
     .scales = false, .turning = kStill},
    {.name = "biogpt", .model_types = kBiogpt, .class_stems = kBiogptClass, .pairing = kUnused, .main = kBiogptStack,
     .scales = false, .turning = kStill},
    {.name = "musicgen_decoder", .model_types = kMusicgen, .class_stems = kMusicgenClass, .pairing = kUnused,
     .main = kMusicgenStack, .scales = false, .turning = kStill},
    {.name = "musicgen_melody_decoder", .model_types = kMelody, .class_stems = kMelodyClass, .pairing = kUnused,
     .main = kMelodyStack, .scales = false, .turning = kStill},
};
// clang-format on

}  // namespace

std::span<const Family> learned_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
