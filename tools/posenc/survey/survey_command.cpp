// Workers read models, a few ahead of what is written; the calling thread reads the list and writes the lines, in its
// order. So a file of lines says by itself how far it has come, and is the same with any number of workers.
#include "survey/survey_command.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/error.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "survey/model_list.h"
#include "survey/survey_output.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kAhead = 4;  // models for each worker, so that one that takes long holds up no others

// JSON without its line breaks and what indents lines: strings of JSON have neither.
std::string one_line(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t end = json.find('\n');
    out += json.substr(0, end);
    if (end == std::string_view::npos) break;
    json.remove_prefix(end);
    const std::size_t next = json.find_first_not_of("\n ");
    json.remove_prefix(next == std::string_view::npos ? json.size() : next);
    if (out.ends_with(',')) out += ' ';
  }
  return out;
}

struct Line {
  std::string text;
  bool is_error = false;
};

Line error_line(const std::string& model, std::string_view message, int exit_code) {
  constexpr std::string_view kTool = "posenc: ";
  if (message.starts_with(kTool)) message.remove_prefix(kTool.size());
  message = message.substr(0, message.find('\n'));  // the file's own line, which is below it, is in the file
  return {start_of_line(model) + formatted("\"error\": {}, \"exit_code\": {}}}\n", json_string(message), exit_code),
          true};
}

// What is wrong of one model is its line. bad_alloc is no model's fault: it passes through.
Line line_of(const std::string& model, const SurveyArguments& arguments) {
  if (model == "-") return error_line(model, "-: standard input is no model of a list", kUsage);
  try {
    const Plan plan = plan_of({.name = model, .set = arguments.set}, arguments.length);
    const std::string json = of_model(plan.source.name, [&] { return to_json(plan); });
    return {start_of_line(model) + "\"plan\": " + one_line(json) + "}\n"};
  } catch (const UsageError& error) {
    return error_line(model, error.message, kUsage);
  } catch (const Failure& failure) {
    return error_line(model, failure.message, failure.exit_code);
  } catch (const Error& error) {
    return error_line(model, error.what(), kUsage);
  }
}

struct Job {
  std::string model;
  std::optional<Line> line{};
};

// Models that were taken from the list and not written yet.
class Window {
 public:
  Window(const SurveyArguments& arguments, std::size_t workers) : arguments_(arguments) {
    try {
      for (std::size_t n = 0; n < workers; ++n) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the system has no more threads: those that are there do the work
      if (workers_.empty()) throw std::bad_alloc();
    }
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    more_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::size_t size() const { return jobs_.size(); }  // of the calling thread, which alone adds and removes

  void add(std::string model) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({std::move(model)});
    }
    more_.notify_one();
  }

  // The line of the oldest, when it is there.
  Line take() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return problem_ || jobs_.front().line; });
    if (problem_) std::rethrow_exception(problem_);
    Line out = std::move(*jobs_.front().line);
    jobs_.pop_front();
    --given_;
    return out;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [&] { return ended_ || given_ < jobs_.size(); });
      if (ended_) return;
      Job& job = jobs_[given_++];  // stays where it is while others are added and removed
      lock.unlock();
      std::optional<Line> line;
      std::exception_ptr problem;
      try {
        line = line_of(job.model, arguments_);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      job.line = std::move(line);
      if (problem) problem_ = problem;
      done_.notify_one();
    }
  }

  const SurveyArguments& arguments_;
  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::deque<Job> jobs_;
  std::size_t given_ = 0;  // of the jobs, to workers
  bool ended_ = false;
  std::exception_ptr problem_;
  std::vector<std::thread> workers_;
};

}  // namespace

int run_survey(const SurveyArguments& arguments) {
  if (arguments.out) require_other_file("-o", *arguments.out, arguments.list);
  ModelList list(arguments.list);
  SurveyOutput output(arguments.out, arguments.resume, arguments.force);
  const std::int64_t before = output.pass_over(list);
  const auto workers = static_cast<std::size_t>(arguments.jobs.value_or(default_threads()));
  Window window(arguments, workers);
  std::int64_t written = 0;
  std::int64_t errors = 0;
  for (bool is_more = true; is_more || window.size() > 0;) {
    while (is_more && window.size() < kAhead * workers) {
      std::optional<std::string> model = list.next();
      is_more = model.has_value();
      if (model) window.add(std::move(*model));
    }
    if (window.size() == 0) break;
    const Line line = window.take();
    const int code = output.write(line.text);
    if (code != kOk) return code;
    ++written;
    errors += line.is_error ? 1 : 0;
  }
  if (errors > 0) {
    const std::string resumed = before > 0 ? formatted(", after {} that were there", before) : "";
    write_message(formatted("posenc: {} of {} gave an error{}\n", errors, count(written, "model"), resumed));
  }
  return kOk;
}

}  // namespace posenc::tool
