"""Clocks that show a program another time than the clock of the machine, which is never changed."""

import glob
import pathlib
import shutil
import subprocess


class FakeWallClock:
    """The wall clock as libfaketime shows it; it can jump while the program runs."""

    description = "wall clock changed by libfaketime"

    def __init__(self, library, scratch, chance):
        self.library, self.chance = library, chance
        self.file = scratch / "clock"

    def wrap(self, words):
        """Returns the command line `words` such that its program sees this clock."""
        self.jump()
        settings = {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        return ["env", *(f"{name}={value}" for name, value in settings.items()), *words]

    def jump(self):
        days = self.chance.choice((-10000, -1, 0, 1, 10000)) + self.chance.uniform(-1, 1)
        self.file.write_text(f"{days:+.6f}d\n")

    def forget(self, process):
        """Removes what the library leaves in shared memory when a signal ends its process."""
        for name in (f"faketime_shm_{process}", f"sem.faketime_sem_{process}"):
            pathlib.Path("/dev/shm", name).unlink(missing_ok=True)


class TimeNamespace:
    """A monotonic clock with an offset, as on a machine that has been up for another time."""

    description = "monotonic clock changed by a time namespace"

    def __init__(self, chance):
        self.chance = chance

    def wrap(self, words):
        """Returns the command line `words` such that its program sees this clock."""
        offset = str(self.chance.choice((10**5, 10**8)))
        return ["unshare", "--time", "--monotonic", offset, "--boottime", offset, *words]

    def jump(self):
        """A clock of this kind does not change while the program runs."""

    def forget(self, process):
        """A clock of this kind leaves nothing."""


def make_clock(library, scratch, chance):
    """Returns a clock; None, after printing the reason, where none is possible."""
    found = [library] if library else glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if found:
        return FakeWallClock(found[0], scratch, chance)
    if shutil.which("unshare") and subprocess.run(["unshare", "--time", "--monotonic", "1", "true"], capture_output=True).returncode == 0:
        return TimeNamespace(chance)
    print("soak: the clock is not changed: libfaketime is not installed and a time namespace is not permitted", flush=True)
    return None
