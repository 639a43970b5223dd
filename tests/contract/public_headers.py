"""Every public header compiles alone, twice over, without a warning, with each compiler that is there.

usage: public_headers.py INCLUDE_DIR COMPILER...
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import checkout

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
         "-x", "c++", "-"]


def contract(include_dir, compilers):
    complaints = []
    for compiler in compilers:
        for header in sorted(include_dir.rglob("*.h")):
            name = header.relative_to(include_dir)
            run = subprocess.run([compiler, "-I", include_dir, *FLAGS], input=f'#include "{name}"\n' * 2, text=True,
                                 capture_output=True, check=False)
            if run.returncode != 0:
                complaints.append(f"{compiler}: {name} does not compile alone:\n{run.stderr}")
    return complaints


def in_a_folder(text):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.h").write_text(text)
        return contract(pathlib.Path(folder), compilers)


compilers = [compiler for compiler in sys.argv[2:] if shutil.which(compiler)]
checkout.must_complain({
    "a header that needs another": "#pragma once\nstd::vector<int> f();\n",
    "a header without a guard": "struct A {};\n",
    "a header with a warning": "#pragma once\ninline int f(double x) { return x; }\n",
}, in_a_folder)
checkout.must_accept("#pragma once\n#include <vector>\nstd::vector<int> f();\n", in_a_folder)

print("compilers:", *compilers)
checkout.report(contract(pathlib.Path(sys.argv[1]), compilers))
