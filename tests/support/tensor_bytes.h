// Files of tensors, byte by byte, for tests that need good ones, odd ones and lies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace posenc::test {

// There, numbers of most files have to be swapped, and thereby copied even from a file that is mapped.
inline constexpr bool kIsBigEndian = std::endian::native == std::endian::big;

inline std::string little(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
  return out;
}

inline std::string npy_bytes(std::string_view header, std::string_view data = {}, int major = 1) {
  std::string out = "\x93NUMPY" + little(static_cast<std::uint64_t>(major), 2);
  return out.append(little(header.size(), major == 1 ? 2 : 4)).append(header).append(data);
}

// What NumPy writes before the padding.
inline std::string npy_dict(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data = {}) {
  return little(header.size(), 8).append(header).append(data);
}

// "name": {...}
inline std::string safetensors_entry(std::string_view name, std::string_view dtype, std::string_view shape,
                                     std::string_view offsets) {
  std::string out = "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":";
  return out.append(shape).append(",\"data_offsets\":").append(offsets).append("}");
}

// dim, hidden_dim, layers, heads, kv_heads, vocab, length.
inline std::string llama2c_header(const std::array<std::int64_t, 7>& sizes) {
  std::string out;
  for (const std::int64_t size : sizes) out += little(static_cast<std::uint64_t>(size), 4);
  return out;
}

// Of version 2, whose classifier is shared; its data follows.
inline std::string llama2c_version_2(const std::array<std::int64_t, 7>& sizes, std::int64_t group) {
  std::string out = "24ka" + little(2, 4) + llama2c_header(sizes) + '\1' + little(static_cast<std::uint64_t>(group), 4);
  out.resize(256, '\0');
  return out;
}

// A member of a zip archive, as numpy.savez writes them; what a test makes wrong of it.
struct ZipMember {
  std::string name;
  std::string data;
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  std::string own_name{};        // in its own header; empty: the same
  std::uint64_t more_bytes = 0;  // that the directory says it has
  bool in_64_bits = false;       // its sizes stand in an extra field
};

inline std::string zip_bytes(std::span<const ZipMember> members, std::int64_t more_members = 0) {
  std::string out;
  std::string directory;
  for (const ZipMember& m : members) {
    const std::string& own = m.own_name.empty() ? m.name : m.own_name;
    const std::uint64_t size = m.data.size() + m.more_bytes;
    const std::string sizes =
        m.in_64_bits ? little(UINT32_MAX, 4) + little(UINT32_MAX, 4) : little(size, 4) + little(size, 4);
    const std::string extra = m.in_64_bits ? little(1, 2) + little(16, 2) + little(size, 8) + little(size, 8) : "";
    const std::string facts = little(20, 2) + little(m.flags, 2) + little(m.method, 2) + little(0, 8) + sizes;
    for (const std::string& part :
         {"PK\x01\x02" + little(20, 2), facts, little(m.name.size(), 2), little(extra.size(), 2),
          std::string(2 + 2 + 2 + 4, '\0'), little(out.size(), 4), m.name, extra}) {
      directory += part;
    }
    for (const std::string& part :
         {std::string("PK\x03\x04"), facts, little(own.size(), 2), little(extra.size(), 2), own, extra, m.data}) {
      out += part;
    }
  }
  const std::uint64_t at = out.size();
  const auto count = members.size() + static_cast<std::uint64_t>(more_members);
  return out + directory + "PK\x05\x06" + little(0, 4) + little(count, 2) + little(count, 2) +
         little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace posenc::test
