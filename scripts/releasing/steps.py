"""What the parts of scripts/release share: folders, the version, an environment that makes the same bytes again."""
import hashlib
import os
import pathlib
import re
import subprocess
import sys


def run(*command, cwd=None, env=None, stdin=None):
    """Standard output; ends the script with all that was printed where the command fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"release: {' '.join(map(str, command))} failed:\n{done.stdout[-8000:]}{done.stderr[-8000:]}")
    return done.stdout


# Settings of whoever builds, which would be in what is made.
WHOSE = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PYTHONPATH", "PYTHONHASHSEED")


class Making:
    """root: the checkout; out: where files go; work: where they are built."""

    def __init__(self, root, out, work):
        self.root, self.out, self.work = root, out.absolute(), work.absolute()
        self.out.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        header = run("git", "-C", root, "show", "HEAD:include/posenc/version.h")
        self.version = ".".join(re.findall(r"POSENC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        self.epoch = run("git", "-C", root, "log", "-1", "--format=%ct").strip()
        self.launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
        run(root / "scripts/install_dependencies", "build")
        for name, wanted in (("releasing", "requirements.txt"), ("releasing-judges", "judge_requirements.txt")):
            print(run(root / "scripts/install_environment", name, root / "scripts/releasing" / wanted), end="")
        os.umask(0o022)
        self.source = self.unpack()
        # Where things are built must not show in them; times are those of the commit; nothing depends on who builds.
        own = {name: value for name, value in os.environ.items() if name not in WHOSE}
        self.environment = {**own, "SOURCE_DATE_EPOCH": self.epoch, "LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0",
                            "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(self.work / "zig-cache")),
                            "CMAKE_BUILD_PARALLEL_LEVEL": run(root / "scripts/build_jobs").strip(),
                            "PATH": f"{root / 'build/releasing/bin'}:{os.environ['PATH']}"}

    def unpack(self):
        """The tree of the commit, as the source tarball has it. What is there of another commit goes."""
        source, mark = self.work / "source", self.work / "commit"
        commit = run("git", "-C", self.root, "rev-parse", "HEAD")
        if not mark.exists() or mark.read_text() != commit:
            run("rm", "-rf", source)
            source.mkdir()
            mark.write_text(commit)
            tar = subprocess.run(["git", "-C", self.root, "archive", "--format=tar", "HEAD"], check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", source], input=tar, check=True)
        return source

    def folder(self, name):
        """A folder of the work that is empty."""
        folder = self.work / name
        if folder.exists():
            run("rm", "-rf", folder)
        folder.mkdir()
        return folder

    def python(self, *words, cwd=None):
        return run(self.root / "build/releasing/bin/python3", *words, cwd=cwd, env=self.environment)

    def judge(self, *words):
        """By the environment that judges what was made."""
        return run(self.root / "build/releasing-judges/bin/python3", *words, env=self.environment)

    def zig(self):
        place = self.python("-c", "import ziglang; print(ziglang.__path__[0])").strip()
        return pathlib.Path(place) / "zig"

    def headers(self):
        """fmt, RapidJSON and CLI11 alone, for compilers that must not see the rest of /usr/include; settings of CMake for it."""
        folder = self.folder("headers")
        for library in ("fmt", "rapidjson", "CLI"):
            (folder / library).symlink_to(f"/usr/include/{library}")
        for package, target in (("fmt", "fmt::fmt-header-only"), ("CLI11", "CLI11::CLI11"), ("RapidJSON", "rapidjson")):
            (folder / f"{package}Config.cmake").write_text(
                f"add_library({target} INTERFACE IMPORTED)\n"
                f"set_target_properties({target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES {folder})\n"
                f"set(RapidJSON_INCLUDE_DIRS {folder})\n")
        return {f"{package}_DIR": folder for package in ("fmt", "CLI11", "RapidJSON")}

    def cmake(self, name, settings, target):
        """A build of the source; made once."""
        build = self.work / name
        flags = settings.get("CMAKE_CXX_FLAGS", "")
        wanted = {**settings, "CMAKE_CXX_FLAGS": f"-ffile-prefix-map={self.work}=. {flags}".strip(),
                  "CMAKE_CXX_COMPILER_LAUNCHER": self.launcher}
        run("cmake", "-S", self.source, "-B", build, "-G", "Ninja", *[f"-D{key}={value}" for key, value in wanted.items()],
            env=self.environment)
        run("cmake", "--build", build, "--target", target, env=self.environment)
        return build

    def write_sums(self):
        lines = []
        for path in sorted(self.out.iterdir()):
            if path.name != "SHA256SUMS":
                lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
        (self.out / "SHA256SUMS").write_text("".join(lines))
