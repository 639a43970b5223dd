// posenc: the command line tool. docs/cli.md describes it.

#include <exception>
#include <new>
#include <variant>

#include "attend/attend_command.h"
#include "bench/bench_command.h"
#include "bench/demo_command.h"
#include "inspect/compare_command.h"
#include "inspect/facts_commands.h"
#include "inspect/inspect_command.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/page.h"
#include "plot/plot_command.h"
#include "posenc/error.h"
#include "properties/properties_command.h"
#include "rotate/rotate_command.h"

namespace posenc::tool {
namespace {

int run(const InspectArguments& arguments) { return run_inspect(arguments); }
int run(const CompareArguments& arguments) { return run_compare(arguments); }
int run(const RotateArguments& arguments) { return run_rotate(arguments); }
int run(const AttendArguments& arguments) { return run_attend(arguments); }
int run(const BenchRotateArguments& arguments) { return run_bench_rotate(arguments); }
int run(const BenchAttendArguments& arguments) { return run_bench_attend(arguments); }
int run(const PlotArguments& arguments) { return run_plot(arguments); }
int run(const PropertiesArguments& arguments) { return run_properties(arguments); }
int run(const InfoArguments& arguments) { return run_info(arguments); }
int run(const PresetsArguments& arguments) { return run_presets(arguments); }
int run(const DemoArguments& arguments) { return run_demo(arguments); }
int run(const Words& words) { return write_output(words.text); }

int complain(std::string_view message, int exit_code) {
  write_message(formatted("posenc: {}\n", message));
  return exit_code;
}

int run_command_line(int argc, const char* const* argv) {
  try {
    return std::visit([](const auto& arguments) { return run(arguments); }, read_command_line(argc, argv));
  } catch (const UsageError& error) {
    return complain(error.message, kUsage);
  } catch (const Failure& failure) {
    write_message(failure.message);
    return failure.exit_code;
  } catch (const Error& error) {  // a value from the command line or the environment that the library refuses
    return complain(error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory", kMalformed);
  } catch (const std::exception& error) {
    return complain(formatted("internal error: {}", error.what()), kInternal);
  }
}

}  // namespace
}  // namespace posenc::tool

int main(int argc, char** argv) { return posenc::tool::run_command_line(argc, argv); }
