// RapidJSON's events -> the tree. The grammar of structure, strings and UTF-8 is RapidJSON's (iterative: no recursion
// on what nests); numbers, depth, sizes, lone low surrogates, duplicate keys and what follows a NUL byte are checked
// here.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/formatted.h"
#include "io/json/json.h"
#include "io/json/json_stream.h"
#include "io/json/json_syntax.h"
#include "io/json/json_tree.h"
#include "io/json/rapidjson.h"

namespace posenc::io {
namespace {

// A node holds offsets in 32 bits, and there are no more nodes than bytes.
static_assert(kMaxJsonBytes < std::int64_t{kNoNode});

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

using Reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, RapidJsonMemory>;

// RapidJSON pairs a high surrogate with the next escape; a low one on its own passes. Returns its offset in `raw`,
// the text between the quotes, which RapidJSON has accepted.
std::optional<std::size_t> lone_low_surrogate(std::string_view raw) {
  for (std::size_t at = raw.find('\\'); at != std::string_view::npos; at = raw.find('\\', at)) {
    if (raw[at + 1] != 'u') {
      at += 2;
      continue;
    }
    // \uD800 to \uDBFF come in pairs of 12 bytes; \uDC00 to \uDFFF then stand alone.
    const bool in_d000 = raw[at + 2] == 'd' || raw[at + 2] == 'D';
    if (in_d000 && std::string_view("89abAB").find(raw[at + 3]) != std::string_view::npos) {
      at += 12;
    } else if (in_d000 && raw[at + 3] > '9') {
      return at;
    } else {
      at += 6;
    }
  }
  return std::nullopt;
}

struct Counts {
  std::size_t nodes = 0;
  std::size_t keys = 0;
};

// At most how many nodes and keys a text makes: every key and every value but the first stands behind one of "[{,:",
// outside of strings, and nothing stands behind the bracket of an empty container. A vector that grows would hold the
// old nodes beside twice as many new ones.
Counts largest_counts(std::string_view text) {
  Counts out{.nodes = 1};
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      at += c == '\\' ? 1 : 0;
    } else if (c == ':') {
      ++out.nodes;
      ++out.keys;
    } else if (c == ',') {
      ++out.nodes;
    } else if (c == '[' || c == '{') {
      const bool is_empty = at + 1 < text.size() && (text[at + 1] == ']' || text[at + 1] == '}');
      out.nodes += is_empty ? 0 : 1;
    }
  }
  return out;
}

// RapidJSON's handler: it calls one function per event, in the order of the text, and stops where one returns false;
// error_ then says why. Its copy of a string is used only where escapes had to be decoded; places come from the stream.
class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
 public:
  TreeBuilder(JsonTree& tree, const JsonStream& in) : tree_(tree), in_(in) {}

  // The stream stands behind null, true (4 letters) or false (5).
  bool Null() { return add_value(JsonKind::null, in_.Tell() - 4); }
  bool Bool(bool truth) {
    add_value(JsonKind::boolean, in_.Tell() - (truth ? 4 : 5));
    tree_.nodes.back().truth = truth;
    return true;
  }
  bool RawNumber(const char*, rapidjson::SizeType, bool) {
    const NumberScan& number = in_.number();
    if (!number.expected.empty()) {
      error_ = unexpected(tree_, in_.token() + number.length, number.expected);
      error_->got = number_token();
      return false;
    }
    add_value(JsonKind::number, in_.token());
    tree_.nodes.back().content = narrow(in_.token());
    tree_.nodes.back().extent = narrow(number.length);
    return true;
  }
  bool String(const char* decoded, rapidjson::SizeType size, bool) {
    add_value(JsonKind::string, in_.token());
    return set_string({decoded, size});
  }
  // A key is a node of its own that counts as no member: it takes the ordinal that its value will have.
  bool Key(const char* decoded, rapidjson::SizeType size, bool) {
    push(JsonKind::string, in_.token());
    return set_string({decoded, size});
  }
  bool StartObject() { return open(JsonKind::object); }
  bool StartArray() { return open(JsonKind::array); }
  bool EndObject(rapidjson::SizeType) {
    sort_keys(open_.back());
    return close();
  }
  bool EndArray(rapidjson::SizeType) { return close(); }

  // Of a number that is not text: there is none (kParseNumbersAsStringsFlag).
  [[noreturn]] static bool Default() { rapidjson_broken("numbers are text"); }

  const std::optional<FileError>& error() const { return error_; }
  std::string open_pointer() const {
    return open_.empty() ? std::string() : tree_.pointer(open_.back(), kMaxShownPointer);
  }
  // Fills tree.duplicates, once all is read.
  void list_duplicates();

 private:
  static std::uint32_t narrow(std::size_t n) { return static_cast<std::uint32_t>(n); }

  // A node at the end. `ordinal` is how many values its container has so far.
  void push(JsonKind kind, std::size_t offset) {
    const std::uint32_t parent = open_.empty() ? kNoNode : open_.back();
    const std::uint32_t ordinal = open_.empty() ? 0 : tree_.nodes[parent].members;
    tree_.nodes.push_back({narrow(offset), parent, ordinal, 0, 0, 0, kind, false, false});
  }
  bool add_value(JsonKind kind, std::size_t offset) {
    push(kind, offset);
    if (!open_.empty()) ++tree_.nodes[open_.back()].members;
    return true;
  }
  bool set_string(std::string_view decoded);
  bool open(JsonKind kind);
  bool close() {
    tree_.nodes[open_.back()].extent = narrow(tree_.nodes.size());
    open_.pop_back();
    return true;
  }
  void sort_keys(std::uint32_t object);
  std::string number_token() const;

  JsonTree& tree_;
  const JsonStream& in_;
  std::vector<std::uint32_t> open_;                               // the containers around this place, outermost first
  std::vector<std::pair<std::uint32_t, std::uint32_t>> doubles_;  // keys that are the same, as nodes
  std::optional<FileError> error_;
};

// Points the last node at its bytes: into the text, between the quotes, or, where an escape made them differ, into
// tree.decoded.
bool TreeBuilder::set_string(std::string_view decoded) {
  JsonNode& node = tree_.nodes.back();
  const std::size_t begin = in_.token() + 1;
  const std::string_view raw = std::string_view(tree_.text).substr(begin, in_.Tell() - 1 - begin);
  node.extent = narrow(decoded.size());
  node.content = narrow(begin);
  // Every escape is longer than what it stands for.
  if (decoded.size() == raw.size()) return true;
  if (const auto lone = lone_low_surrogate(raw)) {
    error_ = syntax_error(tree_, rapidjson::kParseErrorStringUnicodeSurrogateInvalid, begin + *lone);
    error_->expected = "a high surrogate before the low one";
    return false;
  }
  node.decoded = true;
  node.content = narrow(tree_.decoded.size());
  tree_.decoded += decoded;
  return true;
}

// RapidJSON says that a container opens before it takes the bracket, so the stream stands at it.
bool TreeBuilder::open(JsonKind kind) {
  if (open_.size() == static_cast<std::size_t>(kMaxJsonDepth)) {
    error_ = tree_.error_at(ErrorKind::json_depth, in_.Tell());
    error_->expected = formatted("at most {} arrays and objects inside each other", kMaxJsonDepth);
    error_->got = "one more";
    return false;
  }
  add_value(kind, in_.Tell());
  open_.push_back(narrow(tree_.nodes.size() - 1));
  return true;
}

// Once an object ends: lists its keys in by_key, sorted, and notes equal neighbours. Nested objects ended before, so
// every object's run is contiguous.
void TreeBuilder::sort_keys(std::uint32_t object) {
  const std::size_t begin = tree_.by_key.size();
  tree_.nodes[object].content = narrow(begin);
  tree_.nodes[object].extent = narrow(tree_.nodes.size());
  for (std::uint32_t n = tree_.first_value(object); n != kNoNode; n = tree_.next_value(object, n)) {
    tree_.by_key.push_back(n - 1);
  }
  const auto first = tree_.by_key.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, tree_.by_key.end(), [this](std::uint32_t a, std::uint32_t b) {
    const std::string_view key_a = tree_.content(a);
    const std::string_view key_b = tree_.content(b);
    return key_a == key_b ? a < b : key_before(key_a, key_b);
  });
  for (auto at = first; at != tree_.by_key.end() && at + 1 != tree_.by_key.end(); ++at) {
    if (doubles_.size() == static_cast<std::size_t>(kMaxListedDuplicates)) return;
    if (tree_.content(*at) == tree_.content(*(at + 1))) doubles_.emplace_back(*at, *(at + 1));
  }
}

// In the order of the second keys.
void TreeBuilder::list_duplicates() {
  std::sort(doubles_.begin(), doubles_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  // One pass over the text gives all the lines.
  std::vector<std::size_t> places;
  for (const auto& [first, second] : doubles_) {
    places.push_back(tree_.nodes[first].offset);
    places.push_back(tree_.nodes[second].offset);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> lines;
  std::int64_t line = 1;
  std::size_t from = 0;
  for (const std::size_t place : places) {
    const auto text = tree_.text.begin();
    line += std::count(text + static_cast<std::ptrdiff_t>(from), text + static_cast<std::ptrdiff_t>(place), '\n');
    lines.push_back(line);
    from = place;
  }
  const auto line_of = [&](std::uint32_t node) {
    const auto place = std::lower_bound(places.begin(), places.end(), std::size_t{tree_.nodes[node].offset});
    return lines[static_cast<std::size_t>(place - places.begin())];
  };
  for (const auto& [first, second] : doubles_) {
    // Cut short: one long key around many duplicates would else make many long copies.
    tree_.duplicates.push_back({tree_.pointer(second + 1, kMaxShownPointer), line_of(first), line_of(second),
                                std::int64_t{tree_.nodes[second].offset}});
  }
}

// From where the number began: "1." says more than the character after it.
std::string TreeBuilder::number_token() const { return unexpected(tree_, in_.token(), {}).got; }

FileError refused(std::string_view name, ErrorKind kind, std::string expected, std::string got) {
  FileError error;
  error.kind = kind;
  error.file = name;
  error.expected = std::move(expected);
  error.got = std::move(got);
  return error;
}

// What is no text for a parser at all.
std::optional<FileError> refuse(std::string_view text, std::string_view name) {
  if (text.empty()) return refused(name, ErrorKind::empty, "JSON", "no bytes");
  if (text.size() > static_cast<std::size_t>(kMaxJsonBytes)) {
    return refused(name, ErrorKind::limit, formatted("at most {} bytes", kMaxJsonBytes), formatted("{}", text.size()));
  }
  if (const auto encoding = wide_encoding(text)) {
    FileError error = refused(name, ErrorKind::json_encoding, "UTF-8", std::string(*encoding));
    error.offset = 0;
    return error;
  }
  return std::nullopt;
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view name) {
  if (auto error = refuse(text, name)) return *std::move(error);
  auto tree = std::make_unique<JsonTree>();
  tree->file = name;
  tree->text = text;
  tree->text_begin = text.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;

  const Counts counts = largest_counts(text);
  tree->nodes.reserve(counts.nodes);
  tree->by_key.reserve(counts.keys);

  JsonStream in(tree->text, tree->text_begin);
  TreeBuilder builder(*tree, in);
  Reader reader;
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult verdict = reader.Parse<kFlags>(in, builder);
  // Reading stopped without complaint at a NUL byte behind the document.
  const bool left = !verdict.IsError() && in.Tell() < tree->text.size();
  if (verdict.IsError() || left) {
    FileError error = builder.error().has_value() ? *builder.error()
                      : left ? syntax_error(*tree, rapidjson::kParseErrorDocumentRootNotSingular, in.Tell())
                             : syntax_error(*tree, verdict.Code(), verdict.Offset());
    error.path = builder.open_pointer();
    return error;
  }
  builder.list_duplicates();
  return JsonDocument(std::move(tree));
}

}  // namespace posenc::io
