"""Empty Debian systems in folders, made by debootstrap, in which scripts/try_release installs and runs what was made."""
import os
import pathlib
import re
import shutil
import subprocess
import sys


CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def stop(message):
    sys.exit(f"try_release: {message}")


def checked(command, what, **more):
    """Standard output and error; ends all where the command fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        stop(f"{what}\nended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


class System:
    """An empty Debian that this machine's processor runs."""

    ENTER = 'exec chroot "$root" /bin/sh -c "$script"'

    def __init__(self, folder, suite):
        self.folder, self.suite, self.name, self.lent = folder, suite, folder.name, []
        if not (folder / "etc/debian_version").exists():
            print(f"try_release: an empty {suite} in {folder}", flush=True)
            self.bootstrap()
        # The network is reached as from here, and whom this machine trusts is trusted; pip reads that list even without an index.
        for name in ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES):
            shutil.copyfile(name, folder / name[1:])
        for settings in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copyfile(settings, folder / str(settings)[1:])
        shutil.rmtree(folder / "try", ignore_errors=True)
        (folder / "try").mkdir()

    def bootstrap(self):
        checked(["debootstrap", "--variant=minbase", "--include=ca-certificates", self.suite, self.folder], f"debootstrap {self.suite}")

    def give(self, path):
        """The file's name in there."""
        shutil.copy(path, self.folder / "try")
        (self.folder / "try" / path.name).chmod(0o755)
        return f"/try/{path.name}"

    def lend(self, folder):
        """From now on a folder of this machine is there too, under its own name."""
        (self.folder / str(folder)[1:]).mkdir(parents=True, exist_ok=True)
        self.lent.append(folder)

    def run(self, script, **variables):
        """Standard output and error of a shell's script in there; ends all where it fails."""
        inside = 'root=$1 script=$2; shift 2; mount --types proc proc "$root/proc"; mount --rbind /dev "$root/dev"; ' \
                 'for lent; do mount --bind --options ro "$lent" "$root$lent"; done; ' + self.ENTER
        proxies = {name: value for name, value in os.environ.items() if re.fullmatch("(?i)(https?|no)_proxy", name)}
        return checked(["unshare", "--mount", "--pid", "--fork", "sh", "-c", inside, "inside", self.folder, script, *self.lent],
                       f"in {self.name}:\n{script}",
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "PIP_CERT": CERTIFICATES,
                            **proxies, **variables})

    def install(self, *packages):
        self.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends " + " ".join(packages),
                 DEBIAN_FRONTEND="noninteractive")


class ForeignSystem(System):
    """An empty Debian of another processor with Python and pip, each program of it run by an emulator (static, of
    qemu-user-static). Its packages are unpacked and not set up. Scripts are this machine's shell's; words(program) are those
    that run a program."""

    ENTER = 'exec sh -c "$script"'

    def __init__(self, folder, suite, architecture, emulator):
        self.architecture = architecture
        super().__init__(folder, suite)
        shutil.copy(emulator, folder / "emulator")

    def bootstrap(self):
        checked(["debootstrap", "--foreign", f"--arch={self.architecture}", "--variant=minbase", "--include=python3,python3-pip",
                 self.suite, self.folder], f"debootstrap {self.suite} of {self.architecture}")
        for package in sorted((self.folder / "var/cache/apt/archives").glob("*.deb")):
            checked(["dpkg-deb", "--extract", package, self.folder], package.name)

    def words(self, program):
        return f"chroot {self.folder} /emulator {program}"
