// Which object of a config holds which stack: a row for each outermost model type whose files have several objects.
//
// The main stack, the text decoder, is the plan's first; the others follow in the order of the row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "plan/facts/mask_words.h"
#include "plan/keys/config_keys.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Whose rules the keys of an object follow.
enum class TypeRule : std::uint8_t {
  own,    // those of the object's own model_type; of the row's where it has none
  fixed,  // those of the row's type: the wrapper's class takes no other
};

struct TextPlace {
  // The first of these keys, or keys on the way down ("thinker_config/text_config"), that is an object holds the text
  // stack; none is: the top does.
  Names objects;
  std::string_view type;  // empty: nothing is known beside what the object says
  TypeRule rule = TypeRule::own;
  Names top_keys = {};         // keys of the text stack that the wrapper's class reads at the top
  std::string_view name = {};  // of the stack, where its family would call it otherwise
  std::string_view sees = {};  // what its tokens see where the wrapper has a mask of its own, which is not causal
  bool absent = false;         // there is no text stack: the others are all
};

struct OtherPlace {
  std::string_view object = {};  // a key, or keys on the way down: "vision_config/width/sam_vit_b"; empty: the root
  std::string_view type = {};
  TypeRule rule = TypeRule::own;
  bool is_sign = false;         // not an object: its presence says that there is such a stack, which nothing describes
  std::string_view name = {};   // of a stack that is a text family's; before the names of several
  bool encoder_only = false;    // of such a family
  bool is_name = false;         // of a sign: it names the stack; else it counts something of it
  std::string_view needs = {};  // a flag at the top; there is such a stack only where it is true
  Names top_keys = {};          // of such a family: keys that the wrapper's class reads at the top
};

// What an image in the prompt changes in the mask of a causal text stack.
struct ImageMask {
  MaskKind kind = MaskKind::causal;
  MaskWords detail = {};
};

// At most so many, in the row itself.
template <typename T, std::size_t most>
class Few {
 public:
  constexpr Few() = default;
  constexpr Few(std::initializer_list<T> items) : size_(items.size()) { std::ranges::copy(items, items_.begin()); }

  constexpr auto begin() const noexcept { return items_.begin(); }
  constexpr auto end() const noexcept { return items_.begin() + static_cast<std::ptrdiff_t>(size_); }

 private:
  std::array<T, most> items_{};
  std::size_t size_ = 0;
};
inline constexpr std::size_t kMostOthers = 6;

// Learned rows of an image's rows and columns, side by side, of the tokens that a text stack is given of it: two keys
// on the way down, the rows of either table and the channels of both (of a list, the last).
struct ImageTable {
  std::string_view rows = {};  // empty: there is none
  std::string_view width = {};
  std::string_view stack = {};  // which is given them
};

struct Layout {
  std::string_view family;
  Names model_types;
  Names class_stems;  // "Llava" of LlavaForConditionalGeneration
  TextPlace text;
  Few<OtherPlace, kMostOthers> others;
  ImageMask image = {};
  bool or_tower = false;  // a file that has none of these objects is of the tower of this name
  Names also_types = {};  // model types of the text that such files say at the top: there the class chooses
  ImageTable image_table = {};
};

// The row of an outermost model type, or of a class name where a file has no model_type; null when there is none.
const Layout* find_layout(std::string_view model_type) noexcept;
const Layout* find_layout_of_class(std::string_view architecture) noexcept;

// For every other file: all the keys under which stacks are known to stand, each read by its own model_type.
const Layout& any_layout() noexcept;

std::span<const Layout> layouts() noexcept;

}  // namespace posenc::plan
