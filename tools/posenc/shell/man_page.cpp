// Pages for man(1): what --help says, in roff.
#include <string>
#include <string_view>

#include "line/formatted.h"
#include "posenc/version.h"
#include "shell/completion.h"

namespace posenc::tool {
namespace {

// A line that starts with a dot or a quote would be a request, a backslash an escape; a hyphen is a minus.
std::string roff(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const bool starts = out.empty() || out.back() == '\n';
    if (starts && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string head(std::string_view page, std::string_view name, std::string_view description) {
  return formatted(".TH {} 1 \"\" \"posenc {}.{}.{}\" \"posenc\"\n.SH NAME\n{} \\- {}\n", page, POSENC_VERSION_MAJOR,
                   POSENC_VERSION_MINOR, POSENC_VERSION_PATCH, roff(name), roff(description));
}

std::string entry(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + roff(text) + "\n";
}

std::string term_of(const OptionSpec& option) {
  std::string names = option.names;
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return "\\fB" + roff(names) + "\\fR" + (option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR");
}

std::string exit_status() {
  return ".SH EXIT STATUS\n" + entry("0", "success, warnings too") +
         entry("1", "a check or comparison found something") + entry("2", "usage") +
         entry("3", "cannot read or write") + entry("4", "malformed or impossible input") + entry("5", "no memory");
}

void add_options(std::string& out, const CommandSpec& command) {
  for (const OptionSpec& option : command.options) out += entry(term_of(option), option.description + ".");
}

}  // namespace

std::string man_page(const CommandSpec& command) {
  const std::string name = "posenc-" + command.name;
  std::string out = head("POSENC\\-" + roff(command.name), name, command.description);
  out += formatted(".SH SYNOPSIS\n.B posenc {}\n", roff(command.name));
  for (const OptionSpec& option : command.options) {
    const std::string term = term_of(option);
    out += option.required ? term + "\n" : "[" + term + "]\n";
  }
  out += ".SH OPTIONS\n";
  add_options(out, command);
  for (const CommandSpec& subject : command.subjects) {
    out += formatted(".SH POSENC {} {}\n{}.\n", roff(command.name), roff(subject.name), roff(subject.description));
    add_options(out, subject);
  }
  if (!command.footer.empty()) out += ".SH NOTES\n.nf\n" + roff(command.footer) + ".fi\n";
  return out + exit_status() + ".SH SEE ALSO\n.BR posenc (1)\n";
}

std::string man_page(const std::vector<CommandSpec>& commands) {
  std::string out = head("POSENC", "posenc", "position encodings of transformers, read from a model's own files");
  out += ".SH SYNOPSIS\n.B posenc\n.I COMMAND\n[options]\n.SH COMMANDS\n";
  for (const CommandSpec& command : commands) {
    out += entry(formatted("\\fBposenc {}\\fR", roff(command.name)), command.description + ".");
  }
  out += ".SH ENVIRONMENT\n" + entry("POSENC_ISA", "The instruction set to use: scalar, avx2, avx512, neon, ...") +
         entry("POSENC_THREADS", "How many threads the tool may use.") + entry("NO_COLOR", "Not empty: no colours.");
  out += exit_status() + ".SH SEE ALSO\n";
  for (const CommandSpec& command : commands) out += formatted(".BR posenc\\-{} (1)\n", roff(command.name));
  return out;
}

}  // namespace posenc::tool
