#include "survey/model_list.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kLongestModel = 4096;  // bytes: PATH_MAX of Linux

// Errors of reading: a file's buffer throws, and standard input's ends.
int next_byte(std::streambuf& bytes, const std::string& name) {
  const auto failed = [&] {
    return failure(kFile, formatted("{}: cannot read: {}", printable(name), std::strerror(errno)));
  };
  errno = 0;
  try {
    const int got = bytes.sbumpc();
    if (got == std::char_traits<char>::eof() && &bytes == std::cin.rdbuf() && std::ferror(stdin) != 0) throw failed();
    return got;
  } catch (const std::ios_base::failure&) {
    throw failed();
  }
}

}  // namespace

ModelList::ModelList(const std::string& name) : name_(name == "-" ? "<stdin>" : name), from_(&std::cin) {
  if (name == "-") return;
  std::error_code failed;
  const bool is_directory = std::filesystem::is_directory(name, failed);
  errno = is_directory ? EISDIR : 0;
  if (!is_directory) file_.open(name, std::ios::binary);
  if (is_directory || !file_) {
    throw failure(kFile, formatted("{}: cannot open: {}", printable(name_), std::strerror(errno)));
  }
  from_ = &file_;
}

std::optional<std::string> ModelList::next() {
  if (is_again_) {
    is_again_ = false;
    return last_;
  }
  last_.reset();
  std::string word;
  std::streambuf* const bytes = from_->rdbuf();
  constexpr auto kEnd = std::char_traits<char>::eof();
  for (;;) {
    const int got = next_byte(*bytes, name_);
    const bool is_end = got == kEnd;
    if (!is_end && got != '\n') {
      word += std::char_traits<char>::to_char_type(got);
      if (word.size() <= kLongestModel) continue;
      throw failure(kMalformed, formatted("{}:{}: expected a model of at most {} bytes on each line", printable(name_),
                                          line_ + 1, kLongestModel));
    }
    ++line_;
    if (!word.empty()) return last_ = std::move(word);
    if (is_end) return std::nullopt;
  }
}

}  // namespace posenc::tool
