// Checkpoints that somebody published beside the numbers that their models give: tiny ones, of random or of cut-down
// trained weights.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "models/weights.h"

namespace posenc::test {

// A spoiled fact (spoils.h) that these numbers cannot show, and why.
struct Invisible {
  std::string_view spoil;
  std::string_view reason;
};

// Where the publisher's code is not what the model's makers, and posenc, do.
struct Departure {
  std::string_view reason;
  void (*apply)(Plan&);
};

struct Checkpoint {
  std::string_view name;
  Names names;
  Wiring wiring{};
  // What the publisher's run rounded to float: it was in double, but transformers takes some steps in float always.
  Roundings arithmetic{};
  std::string_view weights{};  // whose weights they are, where they are another's
  std::string_view config{};   // where there is no file of it
  std::optional<Departure> departure{};
  std::vector<Invisible> invisible{};
};

inline constexpr const char* kCheckpointFolder = "weights/tiny_safetensors/neural_api";

inline void PrintTo(const Checkpoint& checkpoint, std::ostream* out) { *out << checkpoint.name; }

const std::vector<Checkpoint>& decoders();
const std::vector<Checkpoint>& encoders();  // and models of an encoder and a decoder

// Published with numbers, and not run.
struct LeftOut {
  std::string_view name;
  std::string_view reason;
};
const std::vector<LeftOut>& left_out();

// What a model was given, and what came of it.
struct Case {
  std::vector<std::int64_t> tokens{};  // of the decoder, where there is an encoder too
  std::vector<std::int64_t> token_types{};
  std::vector<std::int64_t> source{};  // tokens of the encoder
  Numbers rows{};                      // instead of tokens: patches of an image, or frames of sound
  std::optional<std::int64_t> image_token{};
  Numbers image{};        // [tokens that are image_token, channels]: their embeddings
  Numbers coordinates{};  // [axes, tokens]; left out: the order
  Numbers published{};    // the encoder's hidden states come first
};

struct Published {
  Model model;
  std::vector<Case> cases;
};

std::filesystem::path weights_of(const Checkpoint& checkpoint);
// Missing files are failures: look for the weights before.
Published published(const Checkpoint& checkpoint);

}  // namespace posenc::test
