"""The files of a checkout, and how a contract test reports.

A contract is a function from its input to a list of complaints. Before it looks at the checkout it is shown samples
that break it, and must complain about each: a check that cannot fail proves nothing.
"""
import pathlib
import subprocess
import sys

_NOT_SOURCE = ("build", ".git", ".cache", "__pycache__")


def files(root):
    """Paths relative to root: what git tracks or would, or everything but build folders where git cannot say."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=False) if (root / ".git").exists() else None
    if git is not None and git.returncode == 0:
        listed = [pathlib.PurePosixPath(name) for name in git.stdout.split("\0") if name]
    else:
        listed = [pathlib.PurePosixPath(path.relative_to(root)) for path in root.rglob("*")]
        listed = [path for path in listed if not any(path.parts[0].startswith(name) for name in _NOT_SOURCE)
                  and "__pycache__" not in path.parts]
    return sorted(path for path in listed if (root / path).is_file())


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
