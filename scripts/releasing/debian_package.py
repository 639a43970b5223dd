"""posenc_VERSION_amd64.deb: what cmake --install puts into a prefix, with man pages and completions, as dpkg wants it."""
import gzip
import hashlib
import os
import re

from steps import run

CONTROL = """Package: posenc
Version: {version}
Section: devel
Priority: optional
Architecture: {architecture}
Installed-Size: {size}
Suggests: g++ (>= 4:12), cmake, pkgconf
Maintainer: posenc's security and issue pages <posenc@posenc.invalid>
Description: position encodings of transformers, read from the model's own files
 The command posenc says what a model's own files do with positions (RoPE, ALiBi,
 T5 bias, ...), layer by layer, and does it to tensors; it is static. With it come
 the C++ and C headers, the static library, a CMake package and posenc.pc.
"""

COPYRIGHT = """posenc

Copyright: the contributors of posenc
License: Apache-2.0; on Debian systems its text is in /usr/share/common-licenses/Apache-2.0.
"""


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def add_words(stage, tool):
    """Man pages of all commands, and what the shells complete."""
    def packed(*command):
        return gzip.compress(run(tool, *command).encode(), 9, mtime=0)
    pages = stage / "usr/share/man/man1"
    write(pages / "posenc.1.gz", packed("man"))
    for command in re.findall(r"^  (\w+) {2,}", run(tool, "--help").split("Options:")[0], re.MULTILINE):
        write(pages / f"posenc-{command}.1.gz", packed("man", command))
    for shell, place in (("bash", "bash-completion/completions/posenc"), ("zsh", "zsh/vendor-completions/_posenc"),
                         ("fish", "fish/vendor_completions.d/posenc.fish")):
        write(stage / "usr/share" / place, run(tool, "completion", shell).encode())


def make(making, build):
    stage = making.folder("deb")
    run("cmake", "--install", build, env={**making.environment, "DESTDIR": str(stage)})
    add_words(stage, build / "tools/posenc/posenc")
    documents = stage / "usr/share/doc/posenc"
    (documents / "LICENSE").unlink()  # Debian has it once for all packages
    write(documents / "copyright", COPYRIGHT.encode())
    files = [path for path in sorted(stage.rglob("*")) if path.is_file()]
    architecture = run("dpkg", "--print-architecture").strip()
    control = CONTROL.format(version=making.version, architecture=architecture,
                             size=sum(path.stat().st_size for path in files) // 1024)
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(stage)}\n" for path in files)
    write(stage / "DEBIAN/control", control.encode())
    write(stage / "DEBIAN/md5sums", sums.encode())
    for path in stage.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    for path in [stage, *stage.rglob("*")]:  # dpkg-deb only makes times earlier
        os.utime(path, (int(making.epoch), int(making.epoch)))
    # One thread: what several write depends on there being several.
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", stage,
        making.out / f"posenc_{making.version}_{architecture}.deb", env=making.environment)
