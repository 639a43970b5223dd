"""D to F and H to L of the checklist: what is tested elsewhere, or waits for what it is about."""
from recipes import Elsewhere, NotYet

USAGE = "tests/cli/usage_test.py"
STREAMS = "tests/cli/streams_test.py"
INSPECT = "tests/cli/inspect_test.py"

IDS = {
    "D1-D18": ["safetensors", NotYet("no reader of safetensors")],
    "E1-E14": [".npy", NotYet("no reader of .npy")],
    "F1-F10": ["llama2.c", NotYet("no reader of llama2.c files")],
    "H1-H20": ["shapes, strides, aliasing", NotYet("no kernel takes tensors; reference::rotate checks its own in tests/reference")],
    "I1-I18": ["positions and numbers", NotYet("for kernels that take tensors; tables of angles: tests/cpu")],
    "J1-J14": ["concurrency and resources", NotYet("no threads, no GPU")],
    "K1": ["unknown flag or command", Elsewhere(USAGE, "test_unknown_command"), Elsewhere(USAGE, "test_unknown_flag")],
    "K2": ["numbers of the command line", Elsewhere(USAGE, "test_length")],
    "K3": ["locales", Elsewhere(INSPECT, "test_a_locale_changes_nothing")],
    "K4": ["control characters in names", Elsewhere(INSPECT, "test_text_of_a_file_cannot_reach_the_terminal")],
    "K5": ["HTML and SVG", NotYet("no such output")],
    "K6": ["NaN in JSON output", Elsewhere("tests/io/json_writer_test.cpp", "quiet_NaN()")],
    "K7": ["standard output closed or full", Elsewhere(STREAMS, "test_a_full_disk"), Elsewhere(STREAMS, "test_closed")],
    "K8": ["no terminal, NO_COLOR", Elsewhere(STREAMS, "test_no_colour")],
    "K9": ["narrow terminals", NotYet("pages have 80 columns whatever the terminal")],
    "K10-K11": ["--output, plots", NotYet("no such command")],
    "K12": ["- as input", Elsewhere("tests/cli/broken_input_test.py", "test_from_a_pipe")],
    "K13": ["many files at once", NotYet("a command takes one file")],
    "K14": ["a flag twice", Elsewhere(USAGE, "test_twice"), Elsewhere(USAGE, "test_flags_that_exclude_each_other")],
    "K15": ["a bad environment variable", Elsewhere(USAGE, "test_an_instruction_set_that_is_none")],
    "K16": ["help without an environment", NotYet("no test takes the environment away")],
    "L1-L18": ["bindings", NotYet("no bindings")],
}
