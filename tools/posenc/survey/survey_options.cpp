// What posenc survey takes.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostJobs = 1024;

Command read_survey(const Given& given) {
  SurveyArguments out{.list = given.text_or("LIST", ""),
                      .set = given.list("--set"),
                      .length = given.whole("--length", 1, kLargestLength),
                      .out = given.text("--output"),
                      .jobs = given.whole("--jobs", 1, kMostJobs),
                      .resume = given.has("--resume"),
                      .force = given.has("--force")};
  if (out.resume && out.force) throw UsageError{"--resume and --force exclude each other"};
  if (!out.out && out.resume) throw UsageError{"--resume: there is no -o whose lines it could go on with"};
  if (!out.out && out.force) throw UsageError{"--force: there is no -o that it could replace"};
  return out;
}

}  // namespace

CommandSpec survey_spec() {
  return {.name = "survey",
          .description = "The plans of many models: a line of JSON each, in the order of a list",
          .options = {{.names = "LIST",
                       .description = "A file with a model on each line, as inspect takes it, or - for standard input",
                       .required = true},
                      set_option(),
                      {.names = "--length",
                       .value = "N",
                       .description = "Sequence length in tokens, for scaling rules that depend on it; else none"},
                      {.names = "-o,--output", .value = "OUT", .description = "Where to; else standard output"},
                      {.names = "--resume",
                       .description = "Go on after the last whole line of OUT: of a run of the same list that ended "
                                      "early, by whatever"},
                      {.names = "--force", .description = "Replace OUT if it is there"},
                      {.names = "--jobs",
                       .value = "N",
                       .description = "Models at a time; by default what POSENC_THREADS says, or as many as cores"}},
          .footer =
              "A line is {\"model\": WORD, \"plan\": PLAN}, PLAN as of inspect --json, or {\"model\": WORD,\n"
              "\"error\": MESSAGE, \"exit_code\": what inspect would end with}.\n\n"
              "Examples:\n"
              "  find models -name config.json | posenc survey - -o plans.jsonl\n"
              "  posenc survey list.txt -o plans.jsonl --resume\n"
              "  posenc survey list.txt | jq -r 'select(.error) | .model + \": \" + .error'\n\n",
          .read = read_survey};
}

}  // namespace posenc::tool
