// The keys of speech encoders and of the decoders beside them; the others are in config_keys.h.
#pragma once

#include <string_view>

#include "plan/keys/key.h"

namespace posenc::plan {

namespace keys {
inline constexpr Key kConvPositions{
    "num_conv_pos_embeddings",
    "positions that the convolution sees which is added to the frames; data2vec: how many, one after the other"};
inline constexpr Key kConvGroups{"num_conv_pos_embedding_groups", "its groups of channels"};
inline constexpr Key kConvKernel{"conv_pos_kernel_size", "data2vec: positions that each of its convolutions sees"};
inline constexpr Key kSqueeze{"squeeze_factor", "SEW: frames that become one"};
inline constexpr Key kRelativeType{
    "position_embeddings_type",
    "conformers: \"relative\" is Transformer-XL's terms, \"relative_key\" Shaw's keys, \"rotary\" turns hidden states "
    "before queries and keys are made of them; null: none",
    true};
inline constexpr Key kRotaryEmbeddingBase{"rotary_embedding_base", "the base, where that type is rotary"};
inline constexpr Key kLeftMost{"left_max_position_embeddings",
                               "Shaw's keys: distances into the past are clipped to it"};
inline constexpr Key kRightMost{"right_max_position_embeddings", "and those into the future to this"};
inline constexpr Key kMaxRelativeRows{"encoder_max_relative_position",
                                      "SpeechT5: Shaw's keys for distances i - j from minus this to this less 1"};
inline constexpr Key kMaxBucketDistance{"max_bucket_distance",
                                        "WavLM: from this distance on all fall into the last bucket"};
inline constexpr Key kSpeechRows{"max_speech_positions", "SpeechT5: frames that a speech stack is for"};
inline constexpr Key kTextRows{"max_text_positions", "SpeechT5: tokens that a text stack is for"};
inline constexpr Key kSpeechLayers{"speech_encoder_layers", "Seamless: layers of the speech encoder"};
inline constexpr Key kSpeechHeads{"speech_encoder_attention_heads", "and its heads"};
inline constexpr Key kSpeechChunk{"speech_encoder_chunk_size",
                                  "Seamless 2: frames of a chunk of the speech encoder; null: it sees all", true};
inline constexpr Key kSpeechChunksBefore{"speech_encoder_left_chunk_num",
                                         "chunks before its own that a frame sees; below 0: all"};
inline constexpr Key kUnitEncoderLayers{"t2u_encoder_layers", "Seamless: layers of the encoder of units"};
inline constexpr Key kUnitEncoderHeads{"t2u_encoder_attention_heads", "and its heads"};
inline constexpr Key kUnitDecoderLayers{"t2u_decoder_layers", "Seamless: layers of the decoder of units"};
inline constexpr Key kUnitDecoderHeads{"t2u_decoder_attention_heads", "and its heads"};
inline constexpr Key kUnitLength{"t2u_max_position_embeddings", "units that it is for"};
inline constexpr Key kUnitPadding{"t2u_pad_token_id", "and its padding: unit i takes position i + this + 1"};
inline constexpr Key kEncoderHeads{"encoder_num_attention_heads", "FastSpeech 2, Moonshine: heads of the encoder"};
inline constexpr Key kDecoderHeads{"decoder_num_attention_heads", "and of the decoder"};
inline constexpr Key kEncoderKvHeads{"encoder_num_key_value_heads",
                                     "Moonshine: the encoder's heads of keys and values; null: as many as heads"};
inline constexpr Key kDecoderKvHeads{"decoder_num_key_value_heads", "and the decoder's"};
inline constexpr Key kNumEncoderLayers{"encoder_num_hidden_layers", "Moonshine: layers of the encoder"};
inline constexpr Key kNumDecoderLayers{"decoder_num_hidden_layers", "and of the decoder"};
inline constexpr Key kBlockRows{"block_size", "Bark: rows of the learned table, and thereby the trained length"};
inline constexpr Key kAdapter{"add_adapter", "whether layers follow that shorten the sequence"};
inline constexpr Key kAdapterLayers{"num_adapter_layers", "how many of these"};
inline constexpr Key kOutputHidden{"output_hidden_size", "and their channels; null: hidden_size"};
}  // namespace keys

}  // namespace posenc::plan
