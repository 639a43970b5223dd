// One fact of a config, with the names under which files carry it and what it says.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace posenc::plan {

// Names, best first, written as one string with single spaces between: "rope_theta rotary_emb_base". A table's rows
// hold them in place, and the compiler refuses a row whose spaces are wrong. Nothing is copied: the text stays where it
// is.
class Names {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // of C++17: what it points at is made as it is read
    using iterator_concept = std::forward_iterator_tag;
    using value_type = std::string_view;
    using reference = std::string_view;
    using pointer = void;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(std::string_view rest) : rest_(rest) {}
    constexpr std::string_view operator*() const noexcept { return rest_.substr(0, rest_.find(' ')); }
    constexpr Iterator& operator++() noexcept {
      const std::size_t length = rest_.find(' ');
      rest_.remove_prefix(length == std::string_view::npos ? rest_.size() : length + 1);
      return *this;
    }
    constexpr Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    constexpr bool operator==(const Iterator& other) const noexcept { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;  // of one text: two that have the same length are the same
  };

  constexpr Names() = default;
  consteval Names(const char* text) : text_(text) {  // NOLINT(google-explicit-constructor): as a row has it
    for (std::string_view name : *this) {
      if (name.empty()) throw "two spaces, or one at an end";  // where the compiler stops
    }
    if (text_.ends_with(' ')) throw "a space at the end";
  }
  // What has no spaces.
  constexpr explicit Names(std::string_view one) : text_(one) {}

  constexpr Iterator begin() const noexcept { return Iterator(text_); }
  constexpr Iterator end() const noexcept { return Iterator(text_.substr(text_.size())); }
  constexpr bool empty() const noexcept { return text_.empty(); }
  constexpr std::string_view front() const noexcept { return *begin(); }
  constexpr std::string_view text() const noexcept { return text_; }
  constexpr bool contains(std::string_view name) const noexcept {
    for (std::string_view one : *this) {
      if (one == name) return true;
    }
    return false;
  }

 private:
  std::string_view text_;
};

struct Key {
  Names names;
  std::string_view about;        // what it says, for docs/config-keys.md
  bool null_is_a_value = false;  // null switches something off; elsewhere null is the same as absent

  constexpr std::string_view name() const noexcept { return names.front(); }
};

}  // namespace posenc::plan
