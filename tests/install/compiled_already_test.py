"""An object is taken from another build only where that build compiled the same source by the same words.

usage: compiled_already_test.py COMPILER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LAUNCHER = pathlib.Path(__file__).with_name("compiled_already.py")
SENTINEL = b"the object of the build that stands"
OPTIONS = ["-O2", "-DNAME=1"]


def launched(folder, *words):
    """What the launcher leaves for these words, and the depfile that goes with it."""
    made, depfile = folder / "ours.o", folder / "ours.o.d"
    for path in (made, depfile):
        path.unlink(missing_ok=True)
    subprocess.run([sys.executable, LAUNCHER, folder / "build", *words, "-MD", "-MT", "ours.o", "-MF", depfile,
                    "-o", made, "-c", folder / "a.cpp"], check=True)
    return made.read_bytes(), depfile.read_text()


def main(compiler):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "build").mkdir()
        (folder / "build/theirs.o").write_bytes(SENTINEL)
        (folder / "a.cpp").write_text("int name = NAME;\n")
        header, more = folder / "build/cmake_pch.hxx", folder / "more.h"
        header.write_text("")
        more.write_text("int more;\n")
        command = [compiler, *OPTIONS, "-Werror", "-Winvalid-pch", "-include", str(header), "-o", "theirs.o", "-c",
                   str(folder / "a.cpp")]
        (folder / "build/compile_commands.json").write_text(json.dumps(
            [{"directory": str(folder / "build"), "command": " ".join(command), "file": str(folder / "a.cpp")}]))

        for same in ([compiler, *OPTIONS], ["env", compiler, *OPTIONS], [compiler, *OPTIONS, "-Wall"]):
            taken, depfile = launched(folder, *same)
            assert taken == SENTINEL, same
            assert depfile.split() == ["ours.o:", str(folder / "build/theirs.o"), str(folder / "a.cpp")], depfile

        for other in ([compiler, "-O1", "-DNAME=1"], [compiler, "-O2", "-DNAME=2"], [compiler, *OPTIONS, "-fPIC"],
                      [compiler, *OPTIONS, "-Wp,-DMORE"], [compiler, *OPTIONS, "-include", str(more)],
                      ["env", compiler, *reversed(OPTIONS)]):
            assert launched(folder, *other)[0] != SENTINEL, other

        (folder / "build/theirs.o").unlink()
        assert launched(folder, compiler, *OPTIONS)[0] != SENTINEL, "an object that is not there"


if __name__ == "__main__":
    main(sys.argv[1])
