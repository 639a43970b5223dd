"""D to F and H to L of the checklist: what is tested elsewhere, or waits for what it is about."""
from recipes import Elsewhere, NotYet

USAGE = "tests/cli/usage_test.py"
STREAMS = "tests/cli/streams_test.py"
FILES = "tests/hostile/file_cases_test.cpp"
COS_SIN = "tests/cpu/cos_sin_test.cpp"
TABLE = "tests/cpu/rotary_table_test.cpp"
INSPECT = "tests/cli/inspect_test.py"

IDS = {
    "D1-D18": ["safetensors", NotYet("no reader of safetensors")],
    "E1-E14": [".npy", NotYet("no reader of .npy")],
    "F1-F10": ["llama2.c", NotYet("no reader of llama2.c files")],
    "H1-H20": ["shapes, strides, aliasing", NotYet("no kernel takes tensors; reference::rotate tests its own shapes")],
    "I1": ["negative positions", Elsewhere(COS_SIN, "Positions{kLast, -kLast}")],
    "I2": ["the last position, and beyond",
        Elsewhere(COS_SIN, "RefusesWrongPositions"), Elsewhere(TABLE, "MayBeEmpty")],
    "I3": ["beyond 2^31 and 2^53", Elsewhere(TABLE, "ReachesTheLastPositions")],
    "I4": ["real positions: NaN, infinite, fractions",
        Elsewhere(COS_SIN, "std::vector<double>{kNan}"), Elsewhere(COS_SIN, "RealCoordinates")],
    "I5": ["2^24 + 1, which float rounds", NotYet("for kernels that take tensors")],
    "I6": ["positions in bfloat16", NotYet("for kernels that take tensors")],
    "I7": ["repeated, in any order", Elsewhere(COS_SIN, "const Positions t{5, 5, 90000}")],
    "I8": ["start and count that overflow",
        Elsewhere(TABLE, "ReachesTheLastPositions"), Elsewhere(TABLE, "RefusesWrongRanges")],
    "I9-I17": ["values: NaN, infinities, subnormals, masks", NotYet("for kernels that take tensors")],
    "I18": ["the same bits, however it is cut",
        Elsewhere(COS_SIN, "RowsDoNotDependOnTheirNumber"), Elsewhere(TABLE, "RowsDoNotDependOnTheRange")],
    "J1-J5": ["threads and forks", NotYet("no threads")],
    "J6": ["descriptors and exec", Elsewhere(FILES, "J6_ADescriptorEndsWithExec")],
    "J7-J9": ["callbacks, numbers of threads", NotYet("no callbacks, no threads")],
    "J10": ["a limit on memory", Elsewhere("tests/cli/broken_input_test.py", "test_a_limit_on_memory")],
    "J11": ["an interrupt", NotYet("no command runs for long, and none writes a file")],
    "J12": ["a pipe that closes", Elsewhere(STREAMS, "test_a_reader_that_went_away")],
    "J13-J14": ["CUDA", NotYet("no GPU")],
    "K1": ["unknown flag or command", Elsewhere(USAGE, "test_unknown_command"), Elsewhere(USAGE, "test_unknown_flag")],
    "K2": ["numbers of the command line", Elsewhere(USAGE, "test_length")],
    "K3": ["locales", Elsewhere(INSPECT, "test_a_locale_changes_nothing")],
    "K4": ["control characters in names", Elsewhere(INSPECT, "test_text_of_a_file_cannot_reach_the_terminal")],
    "K5": ["HTML and SVG", NotYet("no such output")],
    "K6": ["NaN in JSON output", Elsewhere("tests/io/json_writer_test.cpp", "quiet_NaN()")],
    "K7": ["standard output closed or full", Elsewhere(STREAMS, "test_a_full_disk"), Elsewhere(STREAMS, "test_closed")],
    "K8": ["no terminal, NO_COLOR", Elsewhere(STREAMS, "test_no_colour")],
    "K9": ["narrow terminals", Elsewhere(STREAMS, "test_a_narrow_terminal")],
    "K10-K11": ["--output, plots", NotYet("no such command")],
    "K12": ["- as input", Elsewhere("tests/cli/broken_input_test.py", "test_from_a_pipe")],
    "K13": ["many files at once", NotYet("a command takes one file")],
    "K14": ["a flag twice", Elsewhere(USAGE, "test_twice"), Elsewhere(USAGE, "test_flags_that_exclude_each_other")],
    "K15": ["a bad environment variable", Elsewhere(USAGE, "test_an_instruction_set_that_is_none")],
    "K16": ["help without an environment", Elsewhere(USAGE, "test_without_an_environment")],
    "L1-L18": ["bindings", NotYet("no bindings")],
}
