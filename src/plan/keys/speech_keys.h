// The keys of speech encoders and of the decoders beside them; the others are in config_keys.h.
#pragma once

#include <string_view>

#include "plan/keys/key.h"

namespace posenc::plan {

namespace key_names {
inline constexpr std::string_view kConvPositions[] = {"num_conv_pos_embeddings"};
inline constexpr std::string_view kConvGroups[] = {"num_conv_pos_embedding_groups"};
inline constexpr std::string_view kConvKernel[] = {"conv_pos_kernel_size"};
inline constexpr std::string_view kSqueeze[] = {"squeeze_factor"};
inline constexpr std::string_view kRelativeType[] = {"position_embeddings_type"};
inline constexpr std::string_view kRotaryEmbeddingBase[] = {"rotary_embedding_base"};
inline constexpr std::string_view kLeftMost[] = {"left_max_position_embeddings"};
inline constexpr std::string_view kRightMost[] = {"right_max_position_embeddings"};
inline constexpr std::string_view kMaxRelativeRows[] = {"encoder_max_relative_position"};
inline constexpr std::string_view kMaxBucketDistance[] = {"max_bucket_distance"};
inline constexpr std::string_view kSpeechRows[] = {"max_speech_positions"};
inline constexpr std::string_view kTextRows[] = {"max_text_positions"};
inline constexpr std::string_view kSpeechLayers[] = {"speech_encoder_layers"};
inline constexpr std::string_view kSpeechHeads[] = {"speech_encoder_attention_heads"};
inline constexpr std::string_view kSpeechChunk[] = {"speech_encoder_chunk_size"};
inline constexpr std::string_view kSpeechChunksBefore[] = {"speech_encoder_left_chunk_num"};
inline constexpr std::string_view kUnitEncoderLayers[] = {"t2u_encoder_layers"};
inline constexpr std::string_view kUnitEncoderHeads[] = {"t2u_encoder_attention_heads"};
inline constexpr std::string_view kUnitDecoderLayers[] = {"t2u_decoder_layers"};
inline constexpr std::string_view kUnitDecoderHeads[] = {"t2u_decoder_attention_heads"};
inline constexpr std::string_view kUnitLength[] = {"t2u_max_position_embeddings"};
inline constexpr std::string_view kUnitPadding[] = {"t2u_pad_token_id"};
inline constexpr std::string_view kEncoderHeads[] = {"encoder_num_attention_heads"};
inline constexpr std::string_view kDecoderHeads[] = {"decoder_num_attention_heads"};
inline constexpr std::string_view kEncoderKvHeads[] = {"encoder_num_key_value_heads"};
inline constexpr std::string_view kDecoderKvHeads[] = {"decoder_num_key_value_heads"};
inline constexpr std::string_view kNumEncoderLayers[] = {"encoder_num_hidden_layers"};
inline constexpr std::string_view kNumDecoderLayers[] = {"decoder_num_hidden_layers"};
inline constexpr std::string_view kBlockRows[] = {"block_size"};
inline constexpr std::string_view kAdapter[] = {"add_adapter"};
inline constexpr std::string_view kAdapterLayers[] = {"num_adapter_layers"};
inline constexpr std::string_view kOutputHidden[] = {"output_hidden_size"};
}  // namespace key_names

namespace keys {
inline constexpr Key kConvPositions{
    key_names::kConvPositions,
    "positions that the convolution sees which is added to the frames; data2vec: how many, one after the other"};
inline constexpr Key kConvGroups{key_names::kConvGroups, "its groups of channels"};
inline constexpr Key kConvKernel{key_names::kConvKernel, "data2vec: positions that each of its convolutions sees"};
inline constexpr Key kSqueeze{key_names::kSqueeze, "SEW: frames that become one"};
inline constexpr Key kRelativeType{
    key_names::kRelativeType,
    "conformers: \"relative\" is Transformer-XL's terms, \"relative_key\" Shaw's keys, \"rotary\" turns hidden states "
    "before queries and keys are made of them; null: none",
    true};
inline constexpr Key kRotaryEmbeddingBase{key_names::kRotaryEmbeddingBase, "the base, where that type is rotary"};
inline constexpr Key kLeftMost{key_names::kLeftMost, "Shaw's keys: distances into the past are clipped to it"};
inline constexpr Key kRightMost{key_names::kRightMost, "and those into the future to this"};
inline constexpr Key kMaxRelativeRows{key_names::kMaxRelativeRows,
                                      "SpeechT5: Shaw's keys for distances i - j from minus this to this less 1"};
inline constexpr Key kMaxBucketDistance{key_names::kMaxBucketDistance,
                                        "WavLM: from this distance on all fall into the last bucket"};
inline constexpr Key kSpeechRows{key_names::kSpeechRows, "SpeechT5: frames that a speech stack is for"};
inline constexpr Key kTextRows{key_names::kTextRows, "SpeechT5: tokens that a text stack is for"};
inline constexpr Key kSpeechLayers{key_names::kSpeechLayers, "Seamless: layers of the speech encoder"};
inline constexpr Key kSpeechHeads{key_names::kSpeechHeads, "and its heads"};
inline constexpr Key kSpeechChunk{key_names::kSpeechChunk,
                                  "Seamless 2: frames of a chunk of the speech encoder; null: it sees all", true};
inline constexpr Key kSpeechChunksBefore{key_names::kSpeechChunksBefore,
                                         "chunks before its own that a frame sees; below 0: all"};
inline constexpr Key kUnitEncoderLayers{key_names::kUnitEncoderLayers, "Seamless: layers of the encoder of units"};
inline constexpr Key kUnitEncoderHeads{key_names::kUnitEncoderHeads, "and its heads"};
inline constexpr Key kUnitDecoderLayers{key_names::kUnitDecoderLayers, "Seamless: layers of the decoder of units"};
inline constexpr Key kUnitDecoderHeads{key_names::kUnitDecoderHeads, "and its heads"};
inline constexpr Key kUnitLength{key_names::kUnitLength, "units that it is for"};
inline constexpr Key kUnitPadding{key_names::kUnitPadding, "and its padding: unit i takes position i + this + 1"};
inline constexpr Key kEncoderHeads{key_names::kEncoderHeads, "FastSpeech 2, Moonshine: heads of the encoder"};
inline constexpr Key kDecoderHeads{key_names::kDecoderHeads, "and of the decoder"};
inline constexpr Key kEncoderKvHeads{key_names::kEncoderKvHeads,
                                     "Moonshine: the encoder's heads of keys and values; null: as many as heads"};
inline constexpr Key kDecoderKvHeads{key_names::kDecoderKvHeads, "and the decoder's"};
inline constexpr Key kNumEncoderLayers{key_names::kNumEncoderLayers, "Moonshine: layers of the encoder"};
inline constexpr Key kNumDecoderLayers{key_names::kNumDecoderLayers, "and of the decoder"};
inline constexpr Key kBlockRows{key_names::kBlockRows,
                                "Bark: rows of the learned table, and thereby the trained length"};
inline constexpr Key kAdapter{key_names::kAdapter, "whether layers follow that shorten the sequence"};
inline constexpr Key kAdapterLayers{key_names::kAdapterLayers, "how many of these"};
inline constexpr Key kOutputHidden{key_names::kOutputHidden, "and their channels; null: hidden_size"};
}  // namespace keys

}  // namespace posenc::plan
