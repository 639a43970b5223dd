"""The files of a checkout, and how a contract test reports.

A contract is a function from its input to a list of complaints. Before it looks at the checkout it is shown samples
that break it, and must complain about each: a check that cannot fail proves nothing.
"""
import pathlib
import shutil
import subprocess
import sys

_NOT_SOURCE = ("build/", "build-", ".git/", ".cache/")


def _known_to_git(root):
    """What git tracks or would; None where git is not there or will not say."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, text=True, check=False)
    return [name for name in listing.stdout.split("\0") if name] if listing.returncode == 0 else None


def files(root):
    """Paths relative to root of everything but what was built."""
    listed = _known_to_git(root)
    if listed is None:
        listed = [path.relative_to(root).as_posix() for path in root.rglob("*")]
        listed = [name for name in listed if not name.startswith(_NOT_SOURCE) and "__pycache__" not in name]
    paths = [pathlib.PurePosixPath(name) for name in listed]
    return sorted(path for path in paths if (root / path).is_file())


def must_complain(samples, contract):
    for what, sample in samples.items():
        if not contract(sample):
            sys.exit(f"this check is blind: it lets through {what}")


def must_accept(sample, contract):
    complaints = contract(sample)
    if complaints:
        sys.exit("this check is too strict:\n" + "\n".join(complaints[:10]))


def report(complaints):
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)
