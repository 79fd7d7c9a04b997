"""The file systems on which tools/soak.py trains, and what can happen to them."""

import errno
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys

IMAGE_MEGABYTES = 32
IN_NAMESPACE = "SING_SOAK_IN_NAMESPACE"  # set for a program that has a mount namespace of its own


class PlainDisk:
    """A folder on a file system of the machine. A limit on the size of files takes the place of a full disk."""

    description = "a plain folder with a limit on the size of files"
    full_message = os.strerror(errno.EFBIG)
    full_statuses = (0, 1, -signal.SIGXFSZ)  # the signal has its usual effect before the training begins
    can_fail = False  # whether there are make_read_only() and cut_off()

    def __init__(self, folder):
        self.folder = folder

    def fill(self, child, left):
        """Lets the files of the process grow to `left` bytes at most."""
        if child.is_running():
            resource.prlimit(child.process.pid, resource.RLIMIT_FSIZE, (left, left))

    def free(self):
        """The limit has ended with the process."""

    def close(self):
        pass


class Ext4Disk:
    """An ext4 file system in a file. Its mount is private to this process and ends with it."""

    description = f"ext4 in a file of {IMAGE_MEGABYTES} MB"
    full_message = os.strerror(errno.ENOSPC)
    full_statuses = (0, 1)  # 0: the space was enough for the rest of the training
    can_fail = True
    _SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
    _WITHOUT_FLUSH = 2  # EXT4_GOING_FLAGS_NOLOGFLUSH

    def __init__(self, folder, image):
        self.folder, self.image = folder, image
        with image.open("wb") as file:
            file.truncate(IMAGE_MEGABYTES << 20)
        command("mkfs.ext4", "-q", "-m", "0", image)
        self._mount()

    def _mount(self):
        command("mount", "-o", "loop,errors=remount-ro", self.image, self.folder)
        number = os.stat(self.folder).st_dev
        self.device = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"))

    def fill(self, child, left):
        """Takes the free space except for about `left` bytes."""
        del child
        with (self.folder / "ballast").open("wb") as file:
            size, chunk = 0, 1 << 20
            while chunk >= 1024:
                status = os.statvfs(self.folder)
                try:
                    if status.f_bavail * status.f_frsize < left + chunk:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.posix_fallocate(file.fileno(), size, chunk)
                    size += chunk
                except OSError as problem:
                    if problem.errno != errno.ENOSPC:
                        raise
                    chunk //= 2

    def free(self):
        (self.folder / "ballast").unlink()
        sync(self.folder)

    def make_read_only(self):
        """Reports an error of the medium to the kernel, which then makes the file system read-only while it is in use."""
        pathlib.Path(f"/sys/fs/ext4/{self.device}/trigger_fs_error").write_text("soak\n")

    def cut_off(self):
        """Stops all writing at once and forgets what was not synced, as a power failure does."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, self._SHUTDOWN, struct.pack("I", self._WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def repair(self):
        """Mounts the file system again, from what is on the medium."""
        command("umount", self.folder)
        command("e2fsck", "-fy", self.image, accepted=(0, 1))  # 1: errors were corrected
        self._mount()

    def close(self):
        command("umount", self.folder)


def command(*words, accepted=(0,)):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    if result.returncode not in accepted:
        raise OSError(f"[soak] '{words[0]}' failed with status {result.returncode}: {result.stderr.strip()}")


def sync(folder):
    """Writes the file system of `folder` to the medium."""
    command("sync", "--file-system", folder)


def enter_mount_namespace():
    """Starts the program again in a mount namespace of its own where that is permitted."""
    if os.geteuid() == 0 and IN_NAMESPACE not in os.environ and shutil.which("unshare"):
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def make_disk(scratch):
    """Returns an Ext4Disk; a PlainDisk, after printing the reason, where mounting is not possible."""
    folder = scratch / "disk"
    folder.mkdir()
    try:
        if IN_NAMESPACE not in os.environ:
            raise OSError("mounting is not permitted")
        return Ext4Disk(folder, scratch / "disk.img")
    except OSError as problem:
        print(f"soak: the file system is not made read-only and not cut off: {problem}", flush=True)
        return PlainDisk(folder)
