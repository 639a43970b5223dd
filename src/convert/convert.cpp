// convert(): the checkpoint and its plan, what moves (row_moves.h), and then, if it is no dry run, the work in a folder
// of its own: each file by copy_rows.h, the check of scores, what lies beside, and the name.
#include "posenc/convert.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "convert/checkpoint.h"
#include "convert/config_pairing.h"
#include "convert/copy_rows.h"
#include "convert/layer_rotations.h"
#include "convert/mark.h"
#include "convert/padding.h"
#include "convert/row_moves.h"
#include "convert/score_check.h"
#include "io/files/resumed_file.h"
#include "io/files/text_file.h"
#include "io/files/work_folder.h"
#include "io/json/json_writer.h"
#include "posenc/read_plan.h"

namespace posenc::conversion {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kWorkEnd = ".posenc-partial";
constexpr std::int64_t kMostConfigBytes = std::int64_t{64} << 20;
constexpr std::int64_t kBesidePiece = std::int64_t{4} << 20;  // bytes of a file beside that are copied at once

FileError file_error(ErrorKind kind, const fs::path& path, std::string expected, std::string got,
                     std::string detail = {}) {
  FileError error;
  error.kind = kind;
  error.file = path.native();
  error.expected = std::move(expected);
  error.got = std::move(got);
  error.detail = std::move(detail);
  return error;
}

// All that is known before anything is written.
struct Prepared {
  Checkpoint checkpoint;
  RowMoves moves;
  Pairings pairings{Pairing::half, Pairing::half};
  std::vector<Splices> splices;  // of each file: its mark, put in or taken out
  std::string config;            // the new text of config.json, where the folder has one
  Conversion report;
};

Result<Plan> plan_beside(const Checkpoint& checkpoint) {
  std::error_code failure;
  const bool gguf = checkpoint.file->format == TensorFormat::gguf;
  const fs::path parameters = checkpoint.folder / "params.json";  // Meta's and Mistral's own
  if (!gguf && !fs::exists(checkpoint.model, failure) && fs::exists(parameters, failure)) return read_plan(parameters);
  if (!gguf && !fs::exists(checkpoint.model, failure)) {
    return file_error(ErrorKind::missing_key, checkpoint.file->name, "config.json or params.json beside it, or a plan",
                      "none of them", "the weights do not say which channels pair, nor how many heads there are");
  }
  return read_plan(checkpoint.model);
}

// What the format says of the pairing: config.json where its class reads a key; of GGUF the architecture's name alone.
// `as_planned`: the rows were as the plan says, so that they are not any more.
std::optional<FileError> say_pairing(Prepared& to, const Plan& plan, bool as_planned) {
  std::error_code failure;
  Conversion& report = to.report;
  const std::string paired = std::string(name(report.to));
  if (to.checkpoint.file->format == TensorFormat::gguf) {
    if (as_planned) {
      report.notes.push_back(formatted(
          "GGUF has no key for the pairing: llama.cpp runs the architecture {} by {} pairs, and not what is written "
          "here; other engines must be told.",
          plan.model_type.empty() ? plan.family : plan.model_type, name(report.from)));
    }
    return {};
  }
  const fs::path path = to.checkpoint.folder / kConfig;
  if (!fs::exists(path, failure)) {
    if (as_planned) {
      report.notes.push_back(formatted("No config.json says that channels pair {} now.", paired));
    }
    return {};
  }
  const Result<std::string> text = io::read_text_file(path, kMostConfigBytes);
  if (!text) return text.error();
  Result<ConfigEdit> edit = with_pairing(*text, path.native(), report.stack, report.to);
  if (!edit) return edit.error();
  to.config = std::move(edit->text);
  if (edit->change) {
    report.config.push_back(*edit->change);
    if (!to.checkpoint.whole_folder) {
      report.notes.push_back(formatted("config.json is not written beside one file: {} must be {} in it.",
                                       edit->change->key, edit->change->value));
    }
  } else if (as_planned) {
    report.notes.push_back(formatted(
        "The class of {} reads no key for the pairing: transformers runs it by {} pairs, and not what is written here; "
        "engines that can pair {} must be told.",
        plan.model_type.empty() ? plan.family : plan.model_type, name(report.from), paired));
  }
  return {};
}

// ---- marks (mark.h) ----

// Of each file, what an earlier conversion says that its rows are.
using Marks = std::vector<std::optional<Pairing>>;

Result<Marks> marks_of(const Checkpoint& checkpoint, std::string_view stack) {
  Marks marks;
  for (const io::ByteSource& source : checkpoint.file->sources) {
    const Result<std::optional<Pairing>> mark = read_mark(source, checkpoint.file->format, stack);
    if (!mark) return mark.error();
    marks.push_back(*mark);
  }
  return marks;
}

// What the rows are now. A mark knows it better than the plan, which has not heard of the earlier conversion.
std::optional<Pairing> pairing_now(const ConvertArgs& args, const Checkpoint& checkpoint, const Marks& marks,
                                   std::string_view stack) {
  if (args.again) return args.from;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i]) continue;
    if (*marks[i] != args.to) return marks[i];
    throw Error("convert", {"to", "be another pairing than the rows have",
                            formatted("{}, to which {} was converted already ({}); `again` moves them once more",
                                      name(args.to), checkpoint.names[i], mark_key(stack))});
  }
  return args.from;
}

// Files of which only some are marked are not those that one conversion has written.
void check_marks(const Prepared& to, const Marks& marks, const StackRotations& rotations) {
  std::optional<std::size_t> marked;
  std::optional<std::size_t> unmarked;
  for (const TensorMove& move : to.moves.moves) {
    const auto file = static_cast<std::size_t>(to.checkpoint.file->list.tensors[move.entry].file);
    (marks[file] ? marked : unmarked) = file;
  }
  if (!marked) return;
  if (unmarked) {
    throw Error("convert",
                {"files", "be converted all, or none",
                 formatted("{} marked as {}, {} not ({}); `again` takes all rows for what the plan or `from` "
                           "says",
                           to.checkpoint.names[*marked], name(*marks[*marked]), to.checkpoint.names[*unmarked],
                           mark_key(rotations.stack->name))});
  }
  const Pairing first = rotations.all.begin()->second.rope->pairing;
  if (std::ranges::any_of(rotations.all, [&](const auto& one) { return one.second.rope->pairing != first; })) {
    throw Error("convert", {"the plan", "pair alike in all layers, for rows that were converted already",
                            "one whose layers pair differently; `again` moves them once more"});
  }
}

// The mark says what the rows are, and goes when they are again what they were.
std::optional<FileError> change_marks(Prepared& to, const Marks& marks) {
  const io::OpenTensorFile& file = *to.checkpoint.file;
  Conversion& report = to.report;
  to.splices.resize(file.sources.size());
  report.mark.key = mark_key(report.stack);
  for (const TensorMove& move : to.moves.moves) {
    const auto i = static_cast<std::size_t>(file.list.tensors[move.entry].file);
    if (!to.splices[i].empty() || marks[i] == report.to) continue;
    Result<Splices> splices = marks[i] ? take_mark(file.sources[i], file.format, report.stack)
                                       : put_mark(file.sources[i], file.format, report.stack, report.to);
    if (!splices) return splices.error();
    to.splices[i] = std::move(*splices);
  }
  const auto first = static_cast<std::size_t>(file.list.tensors[to.moves.moves.front().entry].file);
  if (!marks[first] || marks[first] == report.to) report.mark.value = std::string(name(report.to));
  return {};
}

ConvertedTensor reported(const Checkpoint& checkpoint, const TensorMove& move) {
  const TensorEntry& entry = checkpoint.file->list.tensors[move.entry];
  std::int64_t heads = 0;
  for (const HeadRows& one : move.heads) heads += std::ssize(one.starts);
  return {.name = entry.name,
          .file = checkpoint.names[static_cast<std::size_t>(entry.file)],
          .type = entry.type_name,
          .shape = entry.shape,
          .part = move.part,
          .layer = move.layer,
          .heads = heads,
          .first_channel = move.heads.front().first_channel,
          .dim = move.heads.front().dim};
}

Result<Prepared> prepare(const ConvertArgs& args) {
  if (args.to != Pairing::half && args.to != Pairing::interleaved) {
    throw Error("convert", {"to", "be half or interleaved", formatted("{}", static_cast<int>(args.to.get()))});
  }
  Result<Checkpoint> checkpoint = open_checkpoint(args.source);
  if (!checkpoint) return checkpoint.error();
  Prepared out;
  out.checkpoint = std::move(*checkpoint);
  std::optional<Plan> own;
  if (args.plan == nullptr) {
    Result<Plan> plan = plan_beside(out.checkpoint);
    if (!plan) return plan.error();
    own = std::move(*plan);
  }
  const Plan& plan = own ? *own : *args.plan;
  const std::string& chosen = stack_to_convert(plan, args.stack).name;
  const Result<Marks> marks = marks_of(out.checkpoint, chosen);
  if (!marks) return marks.error();
  const StackRotations rotations =
      rotations_of(plan, chosen, pairing_now(args, out.checkpoint, *marks, chosen), args.to);
  out.pairings = {rotations.from, args.to};
  Result<RowMoves> moves = find_row_moves(out.checkpoint, plan, rotations, {.padded_head_dim = args.padded_head_dim});
  if (!moves) return moves.error();
  out.moves = std::move(*moves);
  std::ranges::sort(out.moves.attentions, {}, &AttentionMoves::module);
  if (!args.again) check_marks(out, *marks, rotations);
  if (auto error = check_padding(*out.checkpoint.file, out.moves, args.padded_head_dim)) return *std::move(error);

  Conversion& report = out.report;
  report.from = rotations.from;
  report.to = args.to;
  report.stack = rotations.stack->name;
  report.adapter = out.moves.adapter;
  report.files = out.checkpoint.names;
  for (const io::ByteSource& source : out.checkpoint.file->sources) {
    report.bytes += static_cast<std::int64_t>(source.size());
  }
  for (const TensorMove& move : out.moves.moves) report.tensors.push_back(reported(out.checkpoint, move));
  std::ranges::stable_sort(report.tensors, {}, [&](const ConvertedTensor& tensor) {
    return std::ranges::find(report.files, tensor.file) - report.files.begin();
  });
  report.copied = std::ssize(out.checkpoint.file->list.tensors) - std::ssize(report.tensors);
  report.beside = out.checkpoint.beside;
  report.notes = out.moves.notes;
  if (rotations.layers.size() < rotations.all.size()) {
    report.notes.push_back(formatted("{} layers pair {} already, and are left.",
                                     rotations.all.size() - rotations.layers.size(), name(report.to)));
  }
  if (rotations.indexers) report.notes.push_back("The indexer's own rotation is left as it is.");
  for (const Stack& stack : plan.stacks) {
    const bool rotates =
        std::ranges::any_of(stack.layers, [](const LayerPlan& layer) { return !layer.rotate.empty(); });
    if (rotates && stack.name != report.stack) {
      report.notes.push_back(formatted("The stack {} is left as it is.", stack.name));
    }
  }
  const bool as_planned = rotations.layers.begin()->second.rope->pairing == rotations.from;
  if (auto error = say_pairing(out, plan, as_planned)) return *std::move(error);
  if (auto error = change_marks(out, *marks)) return *std::move(error);
  if (out.checkpoint.whole_folder && !out.checkpoint.left_out.empty()) {
    report.notes.push_back(formatted("Not copied: {}.", joined(out.checkpoint.left_out, ", ")));
  }
  return out;
}

// ---- writing ----

class Writer {
 public:
  Writer(const ConvertArgs& args, Prepared& prepared) : args_(args), prepared_(prepared) {
    output_ = args.output;
    while (!output_.has_filename() && output_.has_parent_path() && output_ != output_.parent_path()) {
      output_ = output_.parent_path();  // "out/"
    }
    all_ = report().bytes + bytes_to_check(prepared.moves);
  }

  Result<Conversion> write() {
    if (auto error = check_output()) return *std::move(error);
    Result<io::WorkFolder> opened = io::WorkFolder::open(fs::path(output_) += kWorkEnd, work());
    if (!opened) return opened.error();
    io::WorkFolder folder = std::move(*opened);
    if (auto error = check_room(folder)) return *std::move(error);
    for (std::size_t i = 0; i < report().files.size(); ++i) {
      if (auto error = write_file_of(folder, i)) return *std::move(error);
    }
    if (auto error = check(folder)) return *std::move(error);
    if (prepared_.checkpoint.whole_folder) {
      if (auto error = write_beside(folder)) return *std::move(error);
    }
    std::vector<std::string> names = report().files;
    if (prepared_.checkpoint.whole_folder) names.insert(names.end(), report().beside.begin(), report().beside.end());
    if (auto error = folder.check_names(names)) return *std::move(error);
    const std::optional<FileError> error = prepared_.checkpoint.whole_folder
                                               ? folder.become(output_)
                                               : folder.become(output_, report().files.front(), args_.replace);
    if (error) return *error;
    return report();
  }

 private:
  Conversion& report() { return prepared_.report; }

  std::optional<FileError> check_output() const {
    if (output_.empty()) return file_error(ErrorKind::bad_path, output_, "a path", "an empty one");
    if (output_.native().find('\0') != std::string::npos) {
      return file_error(ErrorKind::bad_path, output_, "a path", "one with a NUL byte");
    }
    std::error_code failure;
    const fs::file_status status = fs::symlink_status(output_, failure);
    if (!fs::exists(status)) return {};
    if (prepared_.checkpoint.whole_folder) {
      if (fs::is_directory(status) && fs::is_empty(output_, failure) && !failure) return {};
      return file_error(ErrorKind::output_exists, output_, "a name that is free, or an empty folder's",
                        fs::is_directory(status) ? "a folder with files" : "something else");
    }
    if (fs::is_regular_file(status) && args_.replace) return {};
    return file_error(ErrorKind::output_exists, output_, "a name that is free",
                      fs::is_regular_file(status) ? "a file" : "something else than a file");
  }

  // What the folder is for: another source, direction or list of files makes other bytes.
  std::string work() const {
    std::error_code failure;
    const fs::path source = fs::weakly_canonical(prepared_.checkpoint.file->name, failure);
    const Conversion& of = prepared_.report;
    io::JsonWriter json(io::JsonLayout::compact);
    json.begin_object();
    json.member("convert", source.native());
    json.member("from", name(of.from));
    json.member("to", name(of.to));
    json.member("stack", of.stack);
    json.member("mark", of.mark.value);
    json.member("tensors", std::ssize(of.tensors));
    json.key("files");
    json.begin_object();
    for (std::size_t i = 0; i < of.files.size(); ++i) {
      json.member(of.files[i], prepared_.checkpoint.file->sources[i].size());
    }
    json.end_object();
    json.end_object();
    return json.take();
  }

  std::optional<FileError> check_room(const io::WorkFolder& folder) {
    std::uint64_t there = 0;
    for (const std::string& file : report().files) {
      std::error_code failure;
      const std::uintmax_t size = fs::file_size(folder.path() / file, failure);
      if (!failure) there += size;
    }
    const auto bytes = static_cast<std::uint64_t>(report().bytes);
    const std::uint64_t needed = bytes - std::min(bytes, there);
    const std::optional<std::uint64_t> room = folder.room();
    if (!room || *room >= needed) return {};
    return file_error(ErrorKind::io_write, folder.path(), formatted("room for {} bytes more", needed),
                      formatted("{}", *room));
  }

  bool going_on(ConvertStage stage, std::int64_t more) {
    done_ += more;
    stopped_ = stopped_ || (args_.keep_going && !args_.keep_going(stage, std::min(done_, all_), all_));
    return !stopped_;
  }
  FileError stopped(const io::WorkFolder& folder) const {
    return file_error(ErrorKind::io_write, folder.path(), "to write on", "a request to stop",
                      "what is written stays; the same conversion goes on from there");
  }

  std::optional<FileError> write_file_of(io::WorkFolder& folder, std::size_t i) {
    std::vector<const TensorMove*> moves;
    const std::vector<TensorEntry>& tensors = prepared_.checkpoint.file->list.tensors;
    for (const TensorMove& move : prepared_.moves.moves) {
      if (tensors[move.entry].file == static_cast<std::int64_t>(i)) moves.push_back(&move);
    }
    std::ranges::sort(moves, {}, [&](const TensorMove* move) { return tensors[move->entry].offset; });
    io::ResumedFile out(folder.path() / report().files[i]);
    const auto take = [&](std::span<const std::byte> bytes) {
      out.write(bytes);
      return !out.failed() && going_on(ConvertStage::copying, std::ssize(bytes));
    };
    if (auto error = copy_rows(*prepared_.checkpoint.file, i, moves, prepared_.pairings, prepared_.splices[i], take)) {
      return error;
    }
    if (stopped_) return stopped(folder);
    if (auto error = out.finish()) {
      error->detail =
          formatted("what is written stays in {}; the same conversion goes on from there", folder.path().native());
      return error;
    }
    report().found_bytes += out.found();
    return folder.finish(report().files[i]);
  }

  std::optional<FileError> check(const io::WorkFolder& folder) {
    const io::OpenTensorFile& before = *prepared_.checkpoint.file;
    io::OpenTensorFile after(folder.path().native(), before.format);
    after.sources.reserve(report().files.size());
    for (const std::string& file : report().files) {
      Result<io::RegularFile> opened = io::RegularFile::open(folder.path() / file);
      if (!opened) return opened.error();
      after.sources.emplace_back(std::move(*opened));
    }
    after.list.tensors = before.list.tensors;
    for (TensorEntry& entry : after.list.tensors) {
      entry.offset += growth_of(prepared_.splices[static_cast<std::size_t>(entry.file)]);
    }
    std::int64_t counted = 0;
    const Result<CheckedScores> checked = check_scores(
        before, after, prepared_.moves, prepared_.pairings,
        [&](std::int64_t bytes) { return going_on(ConvertStage::checking, bytes - std::exchange(counted, bytes)); });
    if (!checked) return checked.error();
    if (stopped_) return stopped(folder);
    report().checked_heads = checked->heads;
    report().score_difference = checked->difference;
    return {};
  }

  std::optional<FileError> write_beside(const io::WorkFolder& folder) {
    for (const std::string& file : prepared_.checkpoint.beside) {
      io::ResumedFile out(folder.path() / file);
      if (file == kConfig && !prepared_.config.empty()) {
        out.write(std::as_bytes(std::span(prepared_.config)));
      } else if (auto error = copy_whole(prepared_.checkpoint.folder / file, out)) {
        return error;
      }
      if (auto error = out.finish()) return error;
    }
    return {};
  }

  static std::optional<FileError> copy_whole(const fs::path& path, io::ResumedFile& out) {
    Result<io::RegularFile> opened = io::RegularFile::open(path);
    if (!opened) return opened.error();
    const io::ByteSource source(std::move(*opened));
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < source.size() && !out.failed(); at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBesidePiece, source.size() - at)));
      if (auto error = source.read(at, piece, "the file's bytes")) return error;
      out.write(piece);
    }
    return {};
  }

  const ConvertArgs& args_;
  Prepared& prepared_;
  fs::path output_;
  std::int64_t all_ = 0;
  std::int64_t done_ = 0;
  bool stopped_ = false;
};

}  // namespace
}  // namespace posenc::conversion

namespace posenc::inline v0_2 {

Result<Conversion> convert(const ConvertArgs& args) {
  Result<conversion::Prepared> prepared = conversion::prepare(args);
  if (!prepared) return prepared.error();
  if (args.dry_run) return std::move(prepared->report);
  return conversion::Writer(args, *prepared).write();
}

}  // namespace posenc::inline v0_2
