"""posenc never prints, exits or aborts: its release objects call nothing that does.

usage: quiet_objects.py SOURCE_DIR OBJECTS_DIR COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import checkout

# Mangled names, as nm -u gives them. snprintf writes to memory and is no output. std::terminate is left to WORDS:
# compilers call it by themselves at the edge of a noexcept function.
BANNED = re.compile("|".join([
    "abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert", "raise", "kill", "pthread_exit",
    "__stack_chk_fail_local", "(__)?v?f?printf(_chk)?", "(__)?vd?printf(_chk)?", "(__)?dprintf(_chk)?", "f?puts",
    "f?putc", "putchar", "_IO_putc", "fwrite(_unlocked)?", "perror", "psignal", "fflush", "stdout", "stderr", "stdin",
    "syslog", "__fprintf_chk", "__vfprintf_chk",
    "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZSt3cin", "_ZNSt8ios_base4InitC1Ev",
]))
# What leaves no symbol, or one that compilers use too. An empty asm has no instruction: it only keeps a value in place;
# those of AMX fill, multiply and empty its tiles.
WORDS = re.compile(
    r"std::terminate|std::abort|__builtin_trap|__builtin_abort|"
    r'\basm\b(?! volatile\("(" : |ldtilecfg |tdpbf16ps |tilezero |tileloadd |tilestored |tilerelease"))'
)

BAD = {
    "std::cout": "#include <iostream>\nvoid f() { std::cout << 1; }",
    "std::cerr": "#include <iostream>\nvoid f() { std::cerr << 1; }",
    "printf": '#include <cstdio>\nvoid f(int i) { std::printf("%d", i); }',
    "printf as puts": '#include <cstdio>\nvoid f() { std::printf("x\\n"); }',
    "fprintf": '#include <cstdio>\nvoid f(std::FILE* to, int i) { std::fprintf(to, "%d", i); }',
    "fwrite": "#include <cstdio>\nvoid f(std::FILE* to) { std::fwrite(\"x\", 1, 1, to); }",
    "abort": "#include <cstdlib>\nvoid f() { std::abort(); }",
    "exit": "#include <cstdlib>\nvoid f() { std::exit(1); }",
    "assert": "#undef NDEBUG\n#include <cassert>\nvoid f(int i) { assert(i == 1); }",
}
GOOD = "#include <stdexcept>\n#include <vector>\n" \
       "double f(const std::vector<double>& v) { if (v.empty()) throw std::length_error(\"x\"); return v.at(1); }"


def undefined(path):
    listing = subprocess.run(["nm", "-u", "--format=posix", path], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listing.splitlines() if line]


def contract(objects):
    return [f"{path.name}: calls {symbol}" for path in objects for symbol in undefined(path)
            if BANNED.fullmatch(symbol.split("@")[0])]


def words(texts):
    """texts: {path: content}."""
    return [f"{path}: says {match[0]}" for path, text in texts.items() for match in WORDS.finditer(text)]


def compiled(text):
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder) / "a.cpp", pathlib.Path(folder) / "a.o"
        source.write_text(text)
        subprocess.run([sys.argv[3], "-std=c++20", "-O2", "-DNDEBUG", "-c", source, "-o", made], check=True)
        return contract([made])


checkout.must_complain(BAD, compiled)
checkout.must_accept(GOOD, compiled)
checkout.must_complain({"std::terminate": {"a.cpp": "if (x) std::terminate();"},
                        "an instruction": {"a.cpp": 'asm volatile("hlt" : : );'}}, words)
checkout.must_accept({"a.cpp": 'asm volatile("" : "+v"(a));'}, words)

objects = sorted(pathlib.Path(sys.argv[2]).rglob("*.o"))
if not objects:
    sys.exit(f"no objects in {sys.argv[2]}")
print(f"{len(objects)} objects")
root = pathlib.Path(sys.argv[1])
sources = {path: path.read_text() for path in sorted((root / "src").rglob("*")) if path.suffix in {".h", ".cpp", ".inc"}}
checkout.report(contract(objects) + words(sources))
