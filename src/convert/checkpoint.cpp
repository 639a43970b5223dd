#include "convert/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/formatted.h"
#include "io/files/regular_file.h"
#include "io/tensors/tensor_shards.h"

namespace posenc::conversion {
namespace {

namespace fs = std::filesystem;

// In this order: what transformers looks for first, then an adapter, then Mistral's and Meta's own.
constexpr std::array<std::string_view, 6> kWeights = {
    "model.safetensors.index.json",        "model.safetensors",
    "adapter_model.safetensors",           "consolidated.safetensors",
    "diffusion_pytorch_model.safetensors", "pytorch_model.safetensors"};

// Files of weights, which are not copied with a folder, by the ends of their names.
constexpr std::array<std::string_view, 13> kWeightEnds = {".safetensors", ".safetensors.index.json",
                                                          ".bin",         ".bin.index.json",
                                                          ".pt",          ".pth",
                                                          ".gguf",        ".h5",
                                                          ".msgpack",     ".onnx",
                                                          ".ckpt",        ".npz",
                                                          ".pickle"};
// Pickles: torch.save's.
constexpr std::array<std::string_view, 5> kPickles = {".bin", ".pt", ".pth", ".ckpt", ".pickle"};

constexpr std::int64_t kMostParts = 1024;

template <std::size_t N>
bool ends_with_one(std::string_view name, const std::array<std::string_view, N>& ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

FileError refused(ErrorKind kind, const fs::path& path, std::string expected, std::string got,
                  std::string detail = {}) {
  FileError error;
  error.kind = kind;
  error.file = path.native();
  error.expected = std::move(expected);
  error.got = std::move(got);
  error.detail = std::move(detail);
  return error;
}

// Nothing in a pickle is evaluated here, and its tensors' places are in the pickle.
FileError refused_pickle(const fs::path& path) {
  return refused(ErrorKind::wrong_format, path, "safetensors or GGUF", "a file of torch.save",
                 "pickles are not read; in Python: safetensors.torch.save_file(torch.load(FILE, map_location=\"cpu\", "
                 "weights_only=True, mmap=True), \"model.safetensors\"), with .contiguous() and .clone() of tensors "
                 "that share memory, then convert that");
}

// "model-00001-of-00003.gguf": the part's number and how many there are.
struct PartName {
  std::string stem;
  std::int64_t number = 0;
  std::int64_t count = 0;
};

std::optional<PartName> part_name(std::string_view name) {
  constexpr std::string_view kEnd = ".gguf";
  constexpr std::size_t kDigits = 5;
  constexpr std::size_t kTail = kDigits + 4 + kDigits + 5;  // "00001-of-00003.gguf"
  if (!name.ends_with(kEnd) || name.size() < kTail + 1 || name[name.size() - kTail - 1] != '-') return {};
  const std::string_view tail = name.substr(name.size() - kTail);
  if (tail.substr(kDigits, 4) != "-of-") return {};
  PartName out{std::string(name.substr(0, name.size() - kTail))};
  const auto number = [](std::string_view text, std::int64_t& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc{} && end == text.data() + text.size();
  };
  if (!number(tail.substr(0, kDigits), out.number) || !number(tail.substr(kDigits + 4, kDigits), out.count)) return {};
  return out.count >= 1 && out.number >= 1 && out.number <= out.count ? std::optional(out) : std::nullopt;
}

std::string name_of_part(const PartName& part, std::int64_t number) {
  return formatted("{}{:05}-of-{:05}.gguf", part.stem, number, part.count);
}

// Adds the tensors of one file.
std::optional<FileError> add_file(Checkpoint& to, const fs::path& path) {
  Result<io::RegularFile> opened = io::RegularFile::open(path);
  if (!opened) return opened.error();
  const io::ByteSource& source = to.file->sources.emplace_back(std::move(*opened));
  const Result<TensorFormat> format = io::find_format(source);
  if (!format) return format.error();
  if (*format != TensorFormat::safetensors && *format != TensorFormat::gguf) {
    return refused(ErrorKind::wrong_format, path, "safetensors or GGUF", std::string(name(*format)));
  }
  if (to.names.empty()) to.file->format = *format;
  if (*format != to.file->format) {
    return refused(ErrorKind::wrong_format, path, std::string(name(to.file->format)), std::string(name(*format)));
  }
  Result<io::TensorList> list = io::list_tensors(source, *format, false);
  if (!list) return list.error();
  for (TensorEntry& entry : list->tensors) {
    entry.file = std::ssize(to.names);
    to.file->list.tensors.push_back(std::move(entry));
  }
  to.names.push_back(path.filename().native());
  return {};
}

// All tensors of an index and no others, each once.
std::optional<FileError> add_shards(Checkpoint& to, const fs::path& index) {
  Result<std::unique_ptr<io::OpenTensorFile>> shards = io::open_shards(index);
  if (!shards) return shards.error();
  for (const Warning& warning : (*shards)->list.warnings) {
    if (warning.code != "not-in-index") continue;
    return refused(ErrorKind::bad_tensor, index, "a shard whose tensors are those that the index looks for there",
                   formatted("{} besides", warning.keys.empty() ? std::string("one") : warning.keys.front()));
  }
  to.file = std::move(*shards);
  for (const io::ByteSource& source : to.file->sources) {
    to.names.push_back(fs::path(source.name()).filename().native());
  }
  return {};
}

std::optional<FileError> add_parts(Checkpoint& to, const fs::path& folder, const PartName& part) {
  if (part.count > kMostParts) {
    return refused(ErrorKind::count_too_large, folder / name_of_part(part, part.number),
                   formatted("at most {} parts", kMostParts), formatted("{}", part.count));
  }
  to.file->sources.reserve(static_cast<std::size_t>(part.count));
  for (std::int64_t number = 1; number <= part.count; ++number) {
    if (auto error = add_file(to, folder / name_of_part(part, number))) return error;
  }
  std::set<std::string_view> seen;
  for (const TensorEntry& entry : to.file->list.tensors) {
    if (seen.insert(entry.name).second) continue;
    return to.file->error(ErrorKind::bad_tensor, entry, "each tensor once", "a name that two parts have");
  }
  return {};
}

// The files beside the weights, and what is left out.
void look_beside(Checkpoint& to) {
  std::error_code failure;
  for (const fs::directory_entry& one : fs::directory_iterator(to.folder, failure)) {
    const std::string name = one.path().filename().native();
    if (std::ranges::find(to.names, name) != to.names.end()) continue;
    std::error_code unknown;
    if (!one.is_regular_file(unknown) || name.starts_with(".")) {
      if (!name.starts_with(".")) to.left_out.push_back(name);
    } else if (ends_with_one(name, kWeightEnds) && name != to.index) {
      to.left_out.push_back(name);
    } else {
      to.beside.push_back(name);
    }
  }
  std::ranges::sort(to.beside);
  std::ranges::sort(to.left_out);
}

// Which file of a folder has the weights.
Result<fs::path> weights_in(const fs::path& folder) {
  std::error_code failure;
  for (const std::string_view name : kWeights) {
    if (fs::exists(folder / name, failure)) return folder / name;
  }
  std::vector<std::string> others;
  std::vector<std::string> pickles;
  for (const fs::directory_entry& one : fs::directory_iterator(folder, failure)) {
    const std::string name = one.path().filename().native();
    const std::optional<PartName> part = part_name(name);
    if (name.ends_with(".safetensors") || (name.ends_with(".gguf") && (!part || part->number == 1))) {
      others.push_back(name);
    }
    if (ends_with_one(name, kPickles)) pickles.push_back(name);
  }
  if (failure) return refused(ErrorKind::io_open, folder, "a folder that can be read", failure.message());
  std::ranges::sort(others);
  std::ranges::sort(pickles);
  if (others.size() == 1) return folder / others.front();
  if (others.empty() && !pickles.empty()) return refused_pickle(folder / pickles.front());
  return refused(ErrorKind::missing_key, folder, "model.safetensors, its index, or one .safetensors or .gguf file",
                 others.empty() ? "none" : formatted("{} of them: name one", others.size()));
}

}  // namespace

Result<Checkpoint> open_checkpoint(const fs::path& source) {
  std::error_code failure;
  Checkpoint out;
  fs::path weights = source;
  if (fs::is_directory(source, failure)) {
    const Result<fs::path> found = weights_in(source);
    if (!found) return found.error();
    weights = *found;
    out.whole_folder = true;
  }
  const std::string name = weights.filename().native();
  if (ends_with_one(name, kPickles) || name.ends_with(".bin.index.json")) return refused_pickle(weights);
  out.folder = weights.has_parent_path() ? weights.parent_path() : fs::path(".");
  out.file = std::make_unique<io::OpenTensorFile>(weights.native(), TensorFormat::safetensors);
  std::optional<FileError> error;
  if (io::is_shard_index(weights)) {
    out.whole_folder = true;
    out.index = name;
    error = add_shards(out, weights);
  } else if (const auto part = part_name(name); part && part->count > 1) {
    out.whole_folder = true;
    error = part->number == 1 ? add_parts(out, out.folder, *part)
                              : refused(ErrorKind::split, weights, "the first part of a model in parts",
                                        formatted("part {} of {}", part->number, part->count));
    weights = out.folder / name_of_part(*part, 1);
  } else {
    out.file->sources.reserve(1);
    error = add_file(out, weights);
  }
  if (error) return *std::move(error);
  out.model = out.file->format == TensorFormat::gguf ? weights : out.folder / "config.json";
  if (out.whole_folder) look_beside(out);
  return out;
}

}  // namespace posenc::conversion
