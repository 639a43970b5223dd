"""The wheels: one for each Python that has an interface of its own, one for all from 3.12 on (abi3), each for x86-64 and,
cross-compiled, for AArch64. The compiler is Zig's Clang with the C library of manylinux_2_28; auditwheel judges and names."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from steps import run

# Who can make the wheel of an interface; the first that is there does. pyproject.toml says from where on abi3 is.
MAKERS = {"cp310": ("3.10",), "cp311": ("3.11",), "cp312-abi3": ("3.12", "3.13", "3.14")}
GLIBC = "2.28"
ABLE = """
import os, sys, sysconfig
if f"{sys.version_info[0]}.{sys.version_info[1]}" != sys.argv[1]: sys.exit("is " + sys.version.split()[0])
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")): sys.exit("has no headers")
try: import ensurepip, venv
except ImportError: sys.exit("has no venv and ensurepip")
"""

# The backend that pyproject.toml names, without pip, which takes no settings before 23.1.
BUILD = "import json, sys, scikit_build_core.build as b; b.build_wheel(sys.argv[1], json.loads(sys.argv[2]))"


def places(version):
    """Where a Python of a version may be: the system's, that of PATH, those of pyenv and of the images of manylinux."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    digits = version.replace(".", "")
    found = [pathlib.Path(f"/usr/bin/python{version}"), pathlib.Path(shutil.which(f"python{version}") or ""),
             *sorted(pyenv.glob(f"versions/{version}.*/bin/python3")), pathlib.Path(f"/opt/python/cp{digits}-cp{digits}/bin/python3")]
    return [place for place in found if place.is_file()]


def find_python(versions):
    """An interpreter of one of the versions that can build for itself, and what is wrong with those that cannot."""
    wrong = []
    for version in versions:
        for place in places(version):
            tried = subprocess.run([place, "-c", ABLE, version], capture_output=True, text=True, check=False)
            if tried.returncode == 0:
                return place, wrong
            wrong.append(f"{place} {tried.stderr.strip().splitlines()[0] if tried.stderr.strip() else 'does not run'}")
    return None, wrong or [f"there is no Python {' or '.join(versions)}"]


def environment_of(making, interface, python):
    """The interpreter of an environment that has what pyproject.toml builds with."""
    name = f"releasing-{interface}"
    print(run(making.root / "scripts/install_environment", name, making.root / "scripts/releasing/wheel_requirements.txt",
              env={**os.environ, "PYTHON": str(python)}), end="")
    return making.root / "build" / name / "bin/python3"


def stub_of(wheel, folder):
    """The stub of a wheel, as a file: making one runs the module, and that of another processor does not run here."""
    with zipfile.ZipFile(wheel) as packed:
        (folder / "_posenc.pyi").write_bytes(packed.read("posenc/_posenc.pyi"))
    return folder / "_posenc.pyi"


def for_processor(making, interface, architecture, folder):
    """Settings of CMake and variables for a processor that is not this one's."""
    if architecture == "x86_64":
        return {}, {}
    native = sorted(making.out.glob(f"posenc-*-{interface}-*x86_64.whl"))
    if not native:
        sys.exit(f"release: the wheel of {interface} for {architecture} has the stub of that for x86_64, which is not in {making.out}")
    suffix = f".cpython-{interface[2:]}-{architecture}-linux-gnu.so"
    return ({"cmake.define.POSENC_STUB": stub_of(native[0], folder)},
            {"_PYTHON_HOST_PLATFORM": f"linux-{architecture}", "SETUPTOOLS_EXT_SUFFIX": suffix})


def runs_with(name, architecture):
    """Whether a tag in the name of a wheel is of GLIBC or older."""
    least = tuple(map(int, GLIBC.split(".")))
    return any((int(major), int(minor)) <= least
               for major, minor in re.findall(rf"manylinux_([0-9]+)_([0-9]+)_{architecture}", name))


def make_one(making, interface, python, architecture):
    """Compiled for an old glibc, named by auditwheel for the oldest that it proves."""
    made = making.folder(f"wheel-{interface}-{architecture}")
    more, variables = for_processor(making, interface, architecture, making.folder(f"stub-{interface}-{architecture}"))
    # One build for all interfaces: what is not Python is compiled once.
    settings = {"cmake.build-type": "Release", "build-dir": making.work / f"build-wheel-{architecture}",
                "cmake.define.CMAKE_TOOLCHAIN_FILE": making.source / "cmake/zig.cmake",
                "cmake.define.POSENC_ZIG": making.zig(), "cmake.define.POSENC_ZIG_TARGET": f"{architecture}-linux-gnu.{GLIBC}",
                "cmake.define.CMAKE_CXX_COMPILER_LAUNCHER": making.launcher, **more}
    run(environment_of(making, interface, python), "-c", BUILD, made, json.dumps({name: str(value) for name, value in settings.items()}),
        cwd=making.source, env={**making.environment, **variables})
    wheel, = made.glob("*.whl")
    print(making.python("-m", "auditwheel", "show", wheel), end="")
    # A platform by name may only be one of this processor's.
    judged = making.folder(f"judged-{interface}-{architecture}")
    making.python("-m", "auditwheel", "repair", "--plat", "auto", "-w", judged, wheel)
    renamed, = judged.glob("*.whl")
    if not runs_with(renamed.name, architecture):
        sys.exit(f"release: {renamed.name} wants a newer system than manylinux_{GLIBC.replace('.', '_')}")
    shutil.copy2(renamed, making.out)
    if interface.endswith("abi3"):
        making.judge("-m", "abi3audit", "--strict", "--summary", wheel)


def make(making, architecture):
    for interface, versions in MAKERS.items():
        python, wrong = find_python(versions)
        if python is None:
            print(f"release: no wheel of {interface} for {architecture}: {'; '.join(wrong)}")
        else:
            print(f"release: the wheel of {interface} for {architecture}, by {python}", flush=True)
            make_one(making, interface, python, architecture)
