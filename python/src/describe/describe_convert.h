// A checkpoint in the other pairing (posenc/convert.h), as Python sees it. convert() makes these; as values they can
// also be made by hand, compared and pickled. `from` is a word of Python's own: from_.
#pragma once

#include "describe/describe_plan.h"
#include "describe/described.h"
#include "posenc/convert.h"

namespace posenc::python {

constexpr auto description(Type<ConvertedTensor>) {
  using T = ConvertedTensor;
  return described_as<T>("ConvertedTensor", "A tensor of which rows move.", member("name", &T::name),
                         member("file", &T::file, "Its name, without a folder."),
                         member("type", &T::type, "As the file spells it: 'BF16', 'Q4_K'."), member("shape", &T::shape),
                         member("part", &T::part), member("layer", &T::layer),
                         member("heads", &T::heads, "Whose rows move."),
                         member("first_channel", &T::first_channel, "Of a head, the first that moves."),
                         member("dim", &T::dim, "Channels of a head that move."));
}

constexpr auto description(Type<ConfigChange>) {
  using T = ConfigChange;
  return described_as<T>("ConfigChange", "What a config.json, or a file's mark, says of the pairing.",
                         member("key", &T::key, "A JSON pointer, '/rope_interleave', or the mark's key."),
                         member("value", &T::value, "'false'"));
}

constexpr auto description(Type<Conversion>) {
  using T = Conversion;
  return described_as<T>(
      "Conversion", "What convert did, or would do.", member("from_", &T::from), member("to", &T::to),
      member("stack", &T::stack), member("adapter", &T::adapter, "LoRA's matrices without the model's own."),
      member("files", &T::files, "With tensors, in their order."),
      member("tensors", &T::tensors, "In the order of files, and of data in each."),
      member("copied", &T::copied, "Tensors that stay as they are."), member("bytes", &T::bytes, "Of all files."),
      member("config", &T::config, "What config.json says now, where its class reads a key for it."),
      member("mark", &T::mark,
             "What each file says now of its rows, by key and pairing; no value: the mark is taken out."),
      member("beside", &T::beside, "Other files that are copied with a folder."),
      member("notes", &T::notes, "What is left as it is, and what the format cannot say; a sentence each."),
      member("checked_heads", &T::checked_heads, "Pairs of heads whose scores were compared."),
      member("score_difference", &T::score_difference, "The largest, over the sum of its terms' magnitudes."),
      member("found_bytes", &T::found_bytes, "That an earlier run had written, and that were as they should be."));
}

}  // namespace posenc::python
