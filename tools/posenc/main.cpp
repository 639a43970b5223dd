// posenc: the command line tool. docs/cli.md describes it.

#include <exception>
#include <new>
#include <variant>

#include "attend/attend_command.h"
#include "bench/bench_command.h"
#include "bench/demo_command.h"
#include "cache/cache_command.h"
#include "convert/convert_command.h"
#include "diagnose/diagnose_command.h"
#include "emit/emit_command.h"
#include "extend/extend_command.h"
#include "inspect/compare_command.h"
#include "inspect/facts_commands.h"
#include "inspect/inspect_command.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/out_of_memory.h"
#include "line/page.h"
#include "plot/plot_command.h"
#include "posenc/error.h"
#include "properties/properties_command.h"
#include "report/report_command.h"
#include "rotate/rotate_command.h"
#include "survey/survey_command.h"
#include "vectors/vectors_command.h"

namespace posenc::tool {
namespace {

// One overload for each alternative of Command, so that std::visit below does not compile while a command lacks one.
// Each returns the exit code, when its output has been written.
int run(const InspectArguments& arguments) { return run_inspect(arguments); }
int run(const SurveyArguments& arguments) { return run_survey(arguments); }
int run(const CompareArguments& arguments) { return run_compare(arguments); }
int run(const RotateArguments& arguments) { return run_rotate(arguments); }
int run(const AttendArguments& arguments) { return run_attend(arguments); }
int run(const DiagnoseArguments& arguments) { return run_diagnose(arguments); }
int run(const ConvertArguments& arguments) { return run_convert(arguments); }
int run(const VectorsArguments& arguments) { return run_vectors(arguments); }
int run(const CheckArguments& arguments) { return run_check(arguments); }
int run(const EmitArguments& arguments) { return run_emit(arguments); }
int run(const ReportArguments& arguments) { return run_report(arguments); }
int run(const ExtendArguments& arguments) { return run_extend(arguments); }
int run(const CacheArguments& arguments) { return run_cache(arguments); }
int run(const BenchRotateArguments& arguments) { return run_bench_rotate(arguments); }
int run(const BenchAttendArguments& arguments) { return run_bench_attend(arguments); }
int run(const PlotArguments& arguments) { return run_plot(arguments); }
int run(const PropertiesArguments& arguments) { return run_properties(arguments); }
int run(const InfoArguments& arguments) { return run_info(arguments); }
int run(const PresetsArguments& arguments) { return run_presets(arguments); }
int run(const DemoArguments& arguments) { return run_demo(arguments); }
int run(const Words& words) { return write_output(words.text); }

// One line on standard error, "posenc: MESSAGE".
int complain(std::string_view message, int exit_code) {
  write_message(formatted("posenc: {}\n", message));
  return exit_code;
}

// Where exceptions end: each becomes a message on standard error and an exit code (exit_code.h). Error is a
// std::exception, so it is caught before that. Too little memory has the code of an input that is over a limit.
int run_command_line(int argc, const char* const* argv) {
  try {
    return std::visit([](const auto& arguments) { return run(arguments); }, read_command_line(argc, argv));
  } catch (const UsageError& error) {
    return complain(error.message, kUsage);
  } catch (const Failure& failure) {
    write_message(failure.message);
    return failure.exit_code;
  } catch (const Error& error) {  // a value from the command line or the environment that the library refuses; of_model
                                  // has a file's
    return complain(error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return complain(formatted("internal error: {}", error.what()), kInternal);
  }
}

}  // namespace
}  // namespace posenc::tool

// Before static objects are made: 101 is the first priority that is not the implementation's.
[[gnu::constructor(101)]] static void before_static_objects() { posenc::tool::end_without_memory_by_exit(); }

int main(int argc, char** argv) {
  try {
    return posenc::tool::run_command_line(argc, argv);
  } catch (...) {  // a message could not be composed
    return posenc::tool::out_of_memory();
  }
}
