#include "line/whole_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;

std::string whole(int descriptor, const std::string& name, std::size_t most, const Look& look) {
  std::string out;
  for (std::size_t size = 0;;) {
    // One byte more than is allowed tells an input of the largest size from one that goes on.
    if (size == out.size()) {
      if (look && size > 0) look(out);
      out.resize(std::min(std::max(2 * size, kReadBytes), most + 1));
    }
    const ssize_t got = ::read(descriptor, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(kFile, formatted("{}: cannot read: {}", name, std::strerror(errno)));
    size += static_cast<std::size_t>(got);
    if (size > most) throw failure(kMalformed, formatted("{}: expected at most {} bytes, got more", name, most));
    if (got > 0) continue;
    out.resize(size);
    return out;
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string whole_file(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  // A pipe that has a writer is read as it comes.
  if (file.number() < 0 || ::fcntl(file.number(), F_SETFL, 0) != 0) {
    throw failure(kFile, formatted("{}: cannot open: {}", printable(path), std::strerror(errno)));
  }
  return whole(file.number(), printable(path), most, {});
}

std::string whole_standard_input(std::string_view flag, std::size_t most, const Look& look) {
  return whole(STDIN_FILENO, formatted("{}: <stdin>", flag), most, look);
}

}  // namespace posenc::tool
