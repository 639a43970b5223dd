"""posenc-VERSION.cdx.json: a CycloneDX 1.5 bill of materials. Each file of the release, by its SHA-256, depends on what is
compiled or linked into it; versions are those that the headers and packages here say."""
import datetime
import hashlib
import json
import pathlib
import re
import uuid

from steps import run


def defined(header, *names):
    """The numbers of #define NAME in a header, with dots."""
    text = pathlib.Path(header).read_text()
    return ".".join(re.search(rf"#define {name}\s+\"?([\d.]+)", text)[1] for name in names)


def fmt_version():
    number = int(defined("/usr/include/fmt/core.h", "FMT_VERSION"))
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def of_debian(package):
    return run("dpkg-query", "--show", "--showformat=${Version}", package).strip()


def of_python(making, package):
    return making.python("-c", f"import importlib.metadata as m; print(m.version('{package}'))").strip()


def part(name, version, licence, purl):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "licenses": [{"expression": licence}], "purl": purl}


def parts(making):
    """By name, what goes into files of the release."""
    rapid = defined("/usr/include/rapidjson/rapidjson.h", *[f"RAPIDJSON_{level}_VERSION" for level in ("MAJOR", "MINOR", "PATCH")])
    command_line = defined("/usr/include/CLI/Version.hpp", "CLI11_VERSION")
    nanobind, zig = of_python(making, "nanobind"), of_python(making, "ziglang")
    known = {
        "fmt": part("fmt", fmt_version(), "MIT", f"pkg:github/fmtlib/fmt@{fmt_version()}"),
        "rapidjson": part("RapidJSON", rapid, "MIT", f"pkg:github/Tencent/rapidjson@v{rapid}"),
        "cli11": part("CLI11", command_line, "BSD-3-Clause", f"pkg:github/CLIUtils/CLI11@v{command_line}"),
        "nanobind": part("nanobind", nanobind, "BSD-3-Clause", f"pkg:pypi/nanobind@{nanobind}"),
        "libc++": part("libc++ of Zig", zig, "Apache-2.0 WITH LLVM-exception", f"pkg:pypi/ziglang@{zig}"),
    }
    for suffix in ("", ARM) if any(path.name.endswith("-linux-aarch64") for path in making.out.iterdir()) else ("",):
        known |= compiler_parts(suffix)
    return known


ARM = "-arm64-cross"  # of Debian's packages of the cross compiler


def compiler_parts(suffix):
    """The libraries of Debian's compiler, which a static command contains."""
    parts_of = (("glibc", "libc6-dev", "LGPL-2.1-or-later"), ("libstdc++", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1"))
    return {name + suffix: part(name, of_debian(package + suffix), licence, f"pkg:deb/debian/{package}{suffix}@{of_debian(package + suffix)}")
            for name, package, licence in parts_of}


def contents(name):
    """Which parts are in a file of the release."""
    if name.endswith(".whl"):
        return ("fmt", "rapidjson", "cli11", "nanobind", "libc++")
    if name.endswith((".deb", "-x86_64", "-aarch64")):
        suffix = ARM if name.endswith("-aarch64") else ""
        return ("fmt", "rapidjson", "cli11", f"glibc{suffix}", f"libstdc++{suffix}")
    return ()


# Judges by the schema that CycloneDX's own library has, formats of dates and names of licences included.
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
found = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read(), all_errors=True)
sys.exit("\\n".join(map(str, found)) if found else 0)
"""


def make(making):
    known = parts(making)
    files, edges, used = [], [], set()
    for path in sorted(making.out.iterdir()):
        if path.name == "SHA256SUMS" or path.name.endswith(".cdx.json"):
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        files.append({"type": "file", "bom-ref": path.name, "name": path.name, "version": making.version,
                      "licenses": [{"expression": "Apache-2.0"}], "hashes": [{"alg": "SHA-256", "content": digest}]})
        edges.append({"ref": path.name, "dependsOn": [known[one]["bom-ref"] for one in contents(path.name)]})
        used.update(contents(path.name))
    whole = f"pkg:generic/posenc@{making.version}"
    moment = datetime.datetime.fromtimestamp(int(making.epoch), datetime.timezone.utc)
    digests = "".join(file["hashes"][0]["content"] for file in files)
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, whole + digests)}",
        "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
                     "component": {"type": "library", "bom-ref": whole, "name": "posenc", "version": making.version,
                                   "licenses": [{"expression": "Apache-2.0"}]}},
        "components": files + [known[one] for one in known if one in used],
        "dependencies": [{"ref": whole, "dependsOn": [file["name"] for file in files]}, *edges],
    }
    path = making.out / f"posenc-{making.version}.cdx.json"
    path.write_text(json.dumps(bill, indent=1) + "\n")
    making.judge("-c", VALIDATE, path)
