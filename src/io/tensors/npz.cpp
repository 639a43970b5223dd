// A .npz file: a zip archive of .npy files, as numpy.savez writes it (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3).
//
// The directory at its end is what counts; a member's own header must name the same file. Members lie as they are, or
// the archive is refused: inflating one would need zlib, for what numpy.savez, unlike savez_compressed, does not write.
// The members' checksums are not looked at, as .npy alone has none.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "io/tensors/npy_header.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

constexpr std::uint32_t kMemberMagic = 0x04034B50;     // PK 3 4
constexpr std::uint32_t kEntryMagic = 0x02014B50;      // PK 1 2
constexpr std::uint32_t kEndMagic = 0x06054B50;        // PK 5 6
constexpr std::uint32_t kEnd64Magic = 0x06064B50;      // PK 6 6
constexpr std::uint32_t kLocator64Magic = 0x07064B50;  // PK 6 7
constexpr std::uint64_t kEndBytes = 22;                // without a comment, which NumPy never writes
constexpr std::uint64_t kLocator64Bytes = 20;
constexpr std::uint64_t kEntryBytes = 46;  // before its name
constexpr std::uint16_t kZip64Field = 1;   // sizes and places in 64 bits
constexpr std::uint32_t kIn64 = UINT32_MAX;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kEncrypted = 1;  // a flag

struct Directory {
  std::uint64_t at = 0;
  std::uint64_t end = 0;
  std::uint64_t entries = 0;
};

struct Member {
  std::string name;
  std::uint64_t at = 0;  // of its header
  std::uint64_t bytes = 0;
  std::uint64_t entry_at = 0;  // in the directory
};

// `kind` where it is another: a file without the directory's end has been cut short.
void want_magic(ByteCursor& cursor, std::uint32_t magic, std::string_view what,
                ErrorKind kind = ErrorKind::wrong_format) {
  const std::uint64_t at = cursor.position();
  const std::uint32_t got = cursor.u32(what);
  if (cursor.failed() || got == magic) return;
  cursor.fail(kind, at, {}, std::string(what), formatted("the bytes {:08x}", got));
}

// To a place that the file names: where it is outside, the error points at `from`, which named it.
void go_to(ByteCursor& cursor, std::uint64_t place, std::uint64_t from, std::string_view what) {
  if (!cursor.failed() && place > cursor.size().value_or(0)) {
    cursor.fail(ErrorKind::bad_offset, from, {}, formatted("{} within the file", what), formatted("{}", place));
  }
  cursor.seek(place, what);
}

// A name that errors show.
std::string shown(std::string_view name) { return std::string(name.substr(0, 64)); }

// ---- the end, and the directory before it ----

// Where 32 bits are too few, the sizes stand before the end once more, in 64.
void read_end64(ByteCursor& cursor, std::uint64_t locator_at, Directory& out) {
  cursor.seek(locator_at, "the place of the directory's 64-bit end");
  want_magic(cursor, kLocator64Magic, "the place of the directory's 64-bit end");
  cursor.skip(4, "a disk's number");
  const std::uint64_t at = cursor.u64("the place of the directory's 64-bit end");
  if (cursor.failed()) return;
  go_to(cursor, at, locator_at, "the directory's 64-bit end");
  want_magic(cursor, kEnd64Magic, "the directory's 64-bit end");
  cursor.skip(8 + 2 + 2 + 4 + 4 + 8, "the directory's 64-bit end");  // size, versions, disks, entries on this disk
  out.entries = cursor.u64("the number of members");
  const std::uint64_t bytes = cursor.u64("the directory's size");
  out.at = cursor.u64("the directory's place");
  if (cursor.failed()) return;
  if (out.at > at || bytes != at - out.at) {
    cursor.fail(ErrorKind::bad_offset, at, {}, "a directory that ends here",
                formatted("{} bytes at {}", bytes, out.at));
  }
  out.end = at;
}

Directory read_end(ByteCursor& cursor) {
  Directory out;
  const std::uint64_t size = cursor.size().value_or(0);
  if (size < kEndBytes) {
    cursor.fail(ErrorKind::truncated, 0, {}, "a zip archive", formatted("{} bytes", size));
    return out;
  }
  const std::uint64_t end_at = size - kEndBytes;
  cursor.seek(end_at, "the directory's end");
  want_magic(cursor, kEndMagic, "the end of a zip archive's directory, PK 5 6, without a comment",
             ErrorKind::truncated);
  cursor.skip(2 + 2 + 2, "disks");
  const std::uint16_t entries = cursor.u16("the number of members");
  const std::uint32_t bytes = cursor.u32("the directory's size");
  const std::uint32_t at = cursor.u32("the directory's place");
  const std::uint16_t comment = cursor.u16("the length of a comment");
  if (cursor.failed()) return out;
  if (comment != 0) {
    cursor.fail(ErrorKind::truncated, end_at, {}, "no comment behind the directory", formatted("{} bytes", comment));
    return out;
  }
  out = {.at = at, .end = end_at, .entries = entries};
  if (entries == UINT16_MAX || bytes == kIn64 || at == kIn64) {
    if (end_at < kLocator64Bytes) {
      cursor.fail(ErrorKind::truncated, end_at, {}, "the place of the directory's 64-bit end", "nothing before it");
      return out;
    }
    read_end64(cursor, end_at - kLocator64Bytes, out);
    return out;
  }
  if (at > end_at || bytes != end_at - at) {
    cursor.fail(ErrorKind::bad_offset, end_at, {}, "a directory that ends here",
                formatted("{} bytes at {}", bytes, at));
  }
  return out;
}

// The 64-bit numbers, in this order, of those fields that say that they are there.
void read_extra(ByteCursor& cursor, std::uint64_t end, bool wide_size, std::uint64_t& stored, bool wide_stored,
                Member& member, bool wide_at) {
  while (!cursor.failed() && cursor.position() + 4 <= end) {
    const std::uint16_t field = cursor.u16("an extra field");
    const std::uint16_t length = cursor.u16("an extra field's length");
    const std::uint64_t next = cursor.position() + length;
    if (next > end) {
      return cursor.fail(ErrorKind::truncated, cursor.position(), shown(member.name), "a whole extra field", "less");
    }
    if (field == kZip64Field) {
      if (wide_size && cursor.position() + 8 <= next) member.bytes = cursor.u64("a member's size");
      if (wide_stored && cursor.position() + 8 <= next) stored = cursor.u64("a member's stored size");
      if (wide_at && cursor.position() + 8 <= next) member.at = cursor.u64("a member's place");
    }
    go_to(cursor, next, cursor.position(), "an extra field's end");
  }
  go_to(cursor, end, cursor.position(), "the end of extra fields");
}

Member read_entry(ByteCursor& cursor) {
  Member out{.entry_at = cursor.position()};
  want_magic(cursor, kEntryMagic, "an entry of the directory, PK 1 2");
  cursor.skip(2 + 2, "versions");
  const std::uint16_t flags = cursor.u16("flags");
  const std::uint16_t method = cursor.u16("the method of compression");
  cursor.skip(2 + 2 + 4, "a time and a checksum");
  std::uint64_t stored = cursor.u32("a member's stored size");
  out.bytes = cursor.u32("a member's size");
  const std::uint16_t name = cursor.u16("the length of a name");
  const std::uint16_t extra = cursor.u16("the length of extra fields");
  const std::uint16_t comment = cursor.u16("the length of a comment");
  cursor.skip(2 + 2 + 4, "a disk and attributes");
  out.at = cursor.u32("a member's place");
  if (cursor.failed()) return out;
  out.name = cursor.text(name, "a member's name");
  if (cursor.failed()) return out;
  const bool wide_size = out.bytes == kIn64;
  const bool wide_stored = stored == kIn64;
  const bool wide_at = out.at == kIn64;
  read_extra(cursor, cursor.position() + extra, wide_size, stored, wide_stored, out, wide_at);
  cursor.skip(comment, "a comment");
  if (cursor.failed()) return out;
  if ((flags & kEncrypted) != 0 || method != kStored) {
    cursor.fail(ErrorKind::bad_type, out.entry_at, shown(out.name), "members that are stored as they are",
                (flags & kEncrypted) != 0 ? "an encrypted one" : formatted("one compressed by method {}", method),
                "numpy.savez writes them so; savez_compressed does not");
  } else if (stored != out.bytes) {
    cursor.fail(ErrorKind::bad_value, out.entry_at, shown(out.name), "one size of a stored member",
                formatted("{} and {}", stored, out.bytes));
  }
  return out;
}

std::vector<Member> read_directory(ByteCursor& cursor) {
  const Directory directory = read_end(cursor);
  std::vector<Member> out;
  if (cursor.failed()) return out;
  // Each entry takes its bytes: a count that could not be there is told before anything is read.
  if (directory.entries > (directory.end - directory.at) / kEntryBytes || directory.entries > kMaxTensors) {
    cursor.fail(ErrorKind::count_too_large, directory.at, {}, "as many members as the directory has room for",
                formatted("{}", directory.entries));
    return out;
  }
  cursor.seek(directory.at, "the directory");
  for (std::uint64_t i = 0; i < directory.entries && !cursor.failed(); ++i) out.push_back(read_entry(cursor));
  if (!cursor.failed() && cursor.position() != directory.end) {
    cursor.fail(ErrorKind::bad_offset, cursor.position(), {}, "the directory's end", "more bytes");
  }
  return out;
}

// ---- the members ----

// Behind its own header, whose sizes may be given later and are not read.
std::uint64_t data_of(ByteCursor& cursor, const Member& member) {
  go_to(cursor, member.at, member.entry_at, "a member");
  want_magic(cursor, kMemberMagic, "a member, PK 3 4");
  cursor.skip(2 + 2 + 2 + 2 + 2 + 4 + 4 + 4, "a member's header");
  const std::uint16_t name = cursor.u16("the length of a name");
  const std::uint16_t extra = cursor.u16("the length of extra fields");
  if (cursor.failed()) return 0;
  const std::string own = cursor.text(name, "a member's name");
  if (!cursor.failed() && own != member.name) {
    cursor.fail(ErrorKind::bad_value, member.at, shown(member.name), "the name that the directory has", shown(own));
  }
  cursor.skip(extra, "extra fields");
  return cursor.failed() ? 0 : cursor.position();
}

void read_member(ByteCursor& cursor, const Member& member, bool raw16_is_bf16, TensorList& list) {
  const std::uint64_t begin = data_of(cursor, member);
  if (cursor.failed()) return;
  if (member.bytes > cursor.remaining().value_or(0)) {
    return cursor.fail(ErrorKind::truncated, begin, shown(member.name), formatted("{} bytes", member.bytes),
                       formatted("{}", cursor.remaining().value_or(0)));
  }
  TensorEntry entry = read_npy_entry(cursor, raw16_is_bf16);
  if (cursor.failed()) return;
  entry.name = member.name.substr(0, member.name.size() - kNpyEnding.size());
  const std::uint64_t used = cursor.position() - begin + static_cast<std::uint64_t>(entry.bytes);
  if (used > member.bytes) {
    return cursor.fail(ErrorKind::truncated, begin, shown(member.name), formatted("an array of {} bytes", used),
                       formatted("a member of {}", member.bytes));
  }
  if (used < member.bytes) {
    list.warn("trailing-bytes", entry.name,
              formatted("{} bytes follow the array's last element.", member.bytes - used));
  }
  list.tensors.push_back(std::move(entry));
}

}  // namespace

Result<TensorList> list_npz(ByteCursor& cursor, bool raw16_is_bf16) {
  std::vector<Member> members = read_directory(cursor);
  TensorList list;
  if (cursor.failed()) return cursor.error();
  std::ranges::sort(members, {}, &Member::name);
  const auto twice = std::ranges::adjacent_find(members, {}, &Member::name);
  if (twice != members.end()) {
    cursor.fail(ErrorKind::duplicate_key, twice->entry_at, shown(twice->name), "each name once",
                "a name that stands twice");
    return cursor.error();
  }
  std::ranges::sort(members, {}, &Member::at);
  for (const Member& member : members) {
    if (!member.name.ends_with(kNpyEnding) || member.name.size() == kNpyEnding.size()) {
      list.warn("not-an-array", member.name, "A member whose name does not end in .npy is not read.");
      continue;
    }
    read_member(cursor, member, raw16_is_bf16, list);
    if (!cursor.failed()) continue;
    // What is wrong with an array's own header does not say whose it is.
    FileError error = cursor.error();
    const std::string name = shown(member.name);
    if (!error.path.starts_with(name)) error.path = name + (error.path.empty() ? "" : "/") + error.path;
    return error;
  }
  return list;
}

}  // namespace posenc::io
