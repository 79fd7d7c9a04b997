#!/usr/bin/env python3
"""A soak test: trains with `sing` again and again while things go wrong, and compares the results bit by bit.

./dev run python tools/soak.py [--minutes N] [--processes N] [--seed N] [--program sing] [--faketime LIBRARY] [--json FILE]
./dev run python tools/soak.py --table FILE...         adds up figures written with --json

A tiny model is trained once undisturbed, which is the reference. Each later round trains it again; disturbances
interrupt the training at random times, each followed by `--resume`. At the end of a round the files of the run are
compared with the reference: tensors, best weights, pictures and metrics are the same bits, and no other file is left.
The exit status is 1 if a check failed.

As root, the runs are on an ext4 file system in a file, which is filled, made read-only and cut off without touching any
other disk. Without that permission a limit on the size of files takes the place of the full disk, and disturbances that
need the file system are skipped. The clock of the machine is never changed: libfaketime shows the program another time,
or, where that is missing, a time namespace changes the monotonic clock that the program sees.
"""

import argparse
import dataclasses
import errno
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from soak_files import checkpoint_step, contents, differences, is_finished, temporary_files
from soak_clock import make_clock
from soak_disk import enter_mount_namespace, make_disk, sync

TASK = (
    "rde --device cpu --threads 1 --data-threads 1 --seed 1 --rectangles 2 --image-size 16 --min-side 4 --max-side 12 "
    "--min-visible 8 --train-count 64 --test-count 32 --model vit-micro --patch-size 8 --depth 2 --width 64 --heads 2 "
    "--batch 8 --evaluate-steps 20 --log-steps 3 --norm-steps 6 --checkpoint-steps 1"
).split()
FAILURE = 1  # exit status of a program that prints what went wrong
INTERRUPTED = 130  # exit status of a run that SIGINT or SIGTERM stopped
DISTURBANCES_PER_ROUND = 20
LATEST_DISTURBANCE = 1 / 3  # after the start of a process, as a share of the time that the reference took

KILL, TERMINATE, INTERRUPT = "kill -9", "SIGTERM", "SIGINT"
FULL, READ_ONLY, POWER = "full disk", "read-only file system", "power failure"
CLOCK, DAMAGE, TWO = "changed clock", "damaged checkpoint", "two processes"
NONE, END = "none", "end of a round"
CHECKED = {
    KILL: "continues from the last checkpoint",
    TERMINATE: "exit status 130 with a checkpoint, no temporary file",
    INTERRUPT: "exit status 130 with a checkpoint, no temporary file",
    FULL: "ends with a message, also if it starts on a full disk; checkpoint kept, no temporary file",
    READ_ONLY: "ends with a message, also if it starts on a read-only file system; checkpoint kept",
    POWER: "the last checkpoint whose save returned is kept",
    CLOCK: "continues; SIGTERM as above",
    DAMAGE: "refused with the name of the file, no file changed",
    TWO: "one is refused, the other continues",
    NONE: "a second undisturbed run gives the same bits",
    END: "finishes with the bits of the reference, no temporary file",
}


class Training:
    """A process that runs `sing train`."""

    def __init__(self, program, steps, run, step, log, wrap):
        self.step = step  # where it should resume; None: at the start, or not known
        self.log = log
        words = wrap([program, "train", *TASK, "--steps", str(steps), "--out", str(run), "--resume"])
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def is_running(self):
        return self.process.poll() is None

    def send(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def text(self):
        return self.log.read_text(errors="replace")

    def last_lines(self):
        return " / ".join(self.text().splitlines()[-2:])

    def end(self, seconds):
        """Returns the exit status; None if the process did not end and was killed."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


@dataclasses.dataclass
class Row:
    """The figures of one kind of disturbance."""

    disturbance: str
    checked: str
    times: int = 0
    in_save: int = 0  # how often a temporary file showed that a save had been interrupted
    failures: int = 0


class Soak:
    """The reference, the run of the current round, and the figures."""

    def __init__(self, program, steps, disk, clock, scratch, chance, limit):
        self.program, self.steps, self.disk, self.clock = program, steps, disk, clock
        self.scratch, self.chance, self.limit = scratch, chance, limit
        self.run = disk.folder / "run"
        self.reference = scratch / "reference"
        self.reference_seconds = 0.0
        self.round = 0
        self.failures = []
        self.leftovers = {}  # temporary files of this round, each with the disturbance that left it
        self.trainings = []  # processes that have not been waited for
        self.disturbances = {
            KILL: self.kill,
            TERMINATE: lambda child: self.stop(child, signal.SIGTERM, TERMINATE),
            INTERRUPT: lambda child: self.stop(child, signal.SIGINT, INTERRUPT),
            FULL: self.fill_disk,
            DAMAGE: self.damage_checkpoint,
            TWO: self.start_second_process,
        }
        if disk.can_fail:
            self.disturbances |= {READ_ONLY: self.make_read_only, POWER: self.cut_power}
        if clock:
            self.disturbances[CLOCK] = self.change_clock
        self.rows = {kind: Row(kind, CHECKED[kind]) for kind in [*self.disturbances, NONE, END]}

    # ---- Rounds ----

    def start(self, step, log="log", wrap=lambda words: words):
        training = Training(self.program, self.steps, self.run, step, self.scratch / log, wrap)
        self.trainings.append(training)
        return training

    def resume(self):
        return self.start(checkpoint_step(self.run))

    def end(self, kind, training, wanted, messages=("",), cause=""):
        """Waits for the end of a process and returns whether it ended as wanted: with one of the exit statuses, with
        one of the messages if it failed, and after it had gone on from the right step."""
        status = training.end(self.limit)
        self.trainings.remove(training)
        text = training.text()
        began = re.search(r"resuming from step (\d+)", text)
        problem = None
        if status is None:
            problem = f"wanted the end of the process, got none in {self.limit} s"
        elif status not in wanted:
            problem = f"wanted exit status {' or '.join(map(str, wanted))}, got {status}"
        elif status == FAILURE and not any(message in text for message in messages):
            problem = f"wanted a message with '{messages[0]}', got another one"
        elif training.step and (int(began[1]) != training.step if began else status == 0 and "already finished" not in text):
            problem = f"wanted to resume from step {training.step}, got {began[1] if began else 'a new beginning'}"
        if problem:
            self.fail(kind, f"{problem}{cause}: {training.last_lines()}")
        return problem is None

    def fail(self, kind, text):
        self.rows[kind].failures += 1
        self.failures.append({"disturbance": kind, "round": self.round, "text": text})
        print(f"soak: round {self.round}: {kind}: {text}", flush=True)

    def make_reference(self):
        began = time.monotonic()
        if not self.end(NONE, self.resume(), (0,)):
            raise SystemExit("[soak] wanted a reference run, got none")
        self.reference_seconds = time.monotonic() - began
        shutil.copytree(self.run, self.reference)
        shutil.rmtree(self.run)
        self.finish(NONE)

    def finish(self, kind):
        """Trains without a disturbance to the end and compares the run with the reference."""
        self.rows[kind].times += 1
        finished = self.end(kind, self.resume(), (0,))
        for name in sorted(self.leftovers.keys() & temporary_files(self.run)):
            self.fail(self.leftovers[name], f"wanted no temporary file after the resumed run, got {name}")
            (self.run / name).unlink()
        if finished:
            for difference in differences(self.run, self.reference):
                self.fail(kind, difference)

    def train_disturbed(self, draw, is_over):
        """Trains from the start to the end, with disturbances that `draw` chooses."""
        self.round += 1
        self.leftovers = {}
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir()
        for _ in range(DISTURBANCES_PER_ROUND):
            if is_over() or not self.disturb(draw()):
                break
        self.finish(END)

    def disturb(self, kind):
        """Starts a process and disturbs it; returns False if it finished before."""
        before = checkpoint_step(self.run)
        wrap = self.clock.wrap if kind == CLOCK else lambda words: words
        child = self.start(before, wrap=wrap)
        try:
            child.process.wait(self.chance.uniform(0, self.reference_seconds * LATEST_DISTURBANCE))
            self.end(kind, child, (0,))
            return False
        except subprocess.TimeoutExpired:
            self.rows[kind].times += 1
            self.disturbances[kind](child)
            self.check_folder(kind, before)
            return True

    def check_folder(self, kind, step_before):
        """Checks that the checkpoint was kept and that a process that could remove its temporary files did so."""
        step = checkpoint_step(self.run) or 0
        # A checkpoint becomes visible a moment before its directory is synced. The one before it is safe.
        wanted = (step_before or 0) - (kind in (POWER, READ_ONLY))
        if step < wanted:
            self.fail(kind, f"wanted a checkpoint of step {wanted} or later, got {step}")
        new = temporary_files(self.run) - self.leftovers.keys()
        self.rows[kind].in_save += bool(new)
        self.leftovers.update({name: kind for name in new})
        if new and kind in (TERMINATE, INTERRUPT, FULL, CLOCK):
            self.fail(kind, f"wanted no temporary file, got {', '.join(sorted(new))}")

    # ---- Disturbances: each takes a running process and ends it ----

    def kill(self, child, kind=KILL):
        child.send(signal.SIGKILL)
        self.end(kind, child, (-signal.SIGKILL, 0))

    def stop(self, child, number, kind):
        child.send(number)
        # Before the training begins there is nothing to save, and the signal has its usual effect.
        self.end(kind, child, (INTERRUPTED, 0, -number))

    def fill_disk(self, child):
        self.disk.fill(child, left=self.chance.choice((0, self.chance.randrange(4 << 20))))
        self.end(FULL, child, self.disk.full_statuses, [self.disk.full_message])
        if self.disk.can_fail and self.chance.random() < 0.5:
            self.end(FULL, self.resume(), self.disk.full_statuses, [self.disk.full_message])
        self.disk.free()

    def make_read_only(self, child):
        self.disk.make_read_only()
        # A write that is under way fails as one that the medium refused.
        self.end(READ_ONLY, child, (FAILURE, 0), [os.strerror(errno.EROFS), os.strerror(errno.EIO)])
        self.end(READ_ONLY, self.resume(), (FAILURE,), [os.strerror(errno.EROFS)])
        self.disk.repair()

    def cut_power(self, child):
        seen = checkpoint_step(self.run)
        self.disk.cut_off()
        child.send(signal.SIGKILL)
        # Before the signal arrives, the process may see that its disk is gone.
        self.end(POWER, child, (-signal.SIGKILL, FAILURE, 0), [os.strerror(errno.EIO)])
        self.disk.repair()
        self.check_folder(POWER, seen)

    def change_clock(self, child):
        for _ in range(3):
            self.clock.jump()
            time.sleep(self.chance.uniform(0, self.reference_seconds / 10))
        self.stop(child, signal.SIGTERM, CLOCK)
        self.clock.forget(child.process.pid)

    def damage_checkpoint(self, child):
        self.kill(child, DAMAGE)
        checkpoint = self.run / "checkpoints" / "last.safetensors"
        if not checkpoint.exists() or is_finished(self.run):
            return  # There is no checkpoint that the program would read.
        kept = self.scratch / "kept"
        shutil.copytree(self.run, kept)
        damaged, damage = damage_bytes(checkpoint.read_bytes(), self.chance)
        checkpoint.write_bytes(damaged)
        before = contents(self.run)
        training = self.start(step=None)
        refused = self.end(DAMAGE, training, (FAILURE,), ["last.safetensors'"], f" after {damage}")
        if refused and contents(self.run) != before:
            self.fail(DAMAGE, f"wanted the files as they were after the refusal of {damage}, got changed ones")
        shutil.rmtree(self.run)
        shutil.move(kept, self.run)
        sync(self.disk.folder)

    def start_second_process(self, child):
        other = self.start(step=None, log="log of the other")
        deadline = time.monotonic() + self.limit
        while child.is_running() and other.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        # The process that was first to lock the run continues, or has finished.
        refused, going = (other, child) if child.is_running() else (child, other)
        self.end(TWO, refused, (FAILURE, 0), ["in use by process"])
        time.sleep(self.chance.uniform(0, self.reference_seconds / 10))
        self.kill(going, TWO)


def damage_bytes(whole, chance):
    """Returns a changed copy and what was changed."""
    (header,) = struct.unpack("<Q", whole[:8])
    choice = chance.choice(("truncate", "zeros", "flip in the header", "flip"))
    if choice == "truncate":
        size = chance.choice((0, chance.randrange(len(whole))))
        return whole[:size], f"a truncation to {size} of {len(whole)} bytes"
    changed = bytearray(whole)
    while changed == whole:
        at = chance.randrange(8 + header if choice == "flip in the header" else len(whole))
        if choice == "zeros":
            end = min(at + 512, len(whole))
            changed[at:end] = bytes(end - at)
        else:
            changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed), f"'{choice}' at byte {at}, {bytes(whole[max(0, at - 20) : at + 20])}"


def shuffled_without_end(kinds, chance):
    """Returns a function that draws a kind; each kind is drawn once before one is drawn again."""
    deck = []

    def draw():
        if not deck:
            deck.extend(chance.sample(kinds, len(kinds)))
        return deck.pop()

    return draw


def run_soak(program, options, scratch):
    """Returns the soak with its figures, and how long the rounds took."""
    chance = random.Random(options.seed)
    clock = make_clock(options.faketime, scratch, chance)
    disk = make_disk(scratch)
    soak = Soak(program, options.steps, disk, clock, scratch, chance, options.limit)
    draw = shuffled_without_end(sorted(soak.disturbances), chance)
    try:
        soak.make_reference()
        began = time.monotonic()
        while time.monotonic() - began < 60 * options.minutes:
            soak.train_disturbed(draw, lambda: time.monotonic() - began >= 60 * options.minutes)
        seconds = time.monotonic() - began
    finally:
        for training in soak.trainings:
            training.end(0)
        disk.close()
    return soak, seconds


def print_table(rows):
    cells = [("disturbance", "what was checked", "times", "in a save", "failures")]
    cells += [(row["disturbance"], row["checked"], str(row["times"]), str(row["in_save"]), str(row["failures"])) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    cells.insert(1, tuple("-" * width for width in widths))
    for line in cells:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")


def print_figures(figures):
    print_table(figures["rows"])
    for kind in figures["skipped"]:
        print(f"skipped: {kind}: the reason was printed before")
    print(
        "{disturbances} disturbances in {rounds} rounds and {minutes:.1f} process minutes, {0} failures; commit {commit}, "
        "seeds {1}, {disk}, {clock}; {machine}".format(len(figures["failures"]), ", ".join(map(str, figures["seeds"])), **figures)
    )


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def figures_of(soak, seconds, seed):
    return {
        "commit": json.loads((soak.reference / "config.json").read_text())["commit"],
        "machine": f"{processor()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "disk": soak.disk.description,
        "clock": soak.clock.description if soak.clock else "the clock was not changed",
        "seeds": [seed],
        "minutes": round(seconds / 60, 1),
        "rounds": soak.round,
        "disturbances": sum(soak.rows[kind].times for kind in soak.disturbances),
        "rows": [dataclasses.asdict(row) for row in soak.rows.values()],
        "skipped": sorted(CHECKED.keys() - soak.rows.keys()),
        "failures": soak.failures,
    }


def sum_of(figures):
    """Adds up the figures of several soaks."""
    total = {}
    for name in ("commit", "machine", "disk", "clock"):
        total[name] = " and ".join(sorted({each[name] for each in figures}))
    for name in ("minutes", "rounds", "disturbances"):
        total[name] = sum(each[name] for each in figures)
    total["seeds"] = [seed for each in figures for seed in each["seeds"]]
    total["failures"] = [failure for each in figures for failure in each["failures"]]
    total["rows"] = []
    for kind, checked in CHECKED.items():
        rows = [row for each in figures for row in each["rows"] if row["disturbance"] == kind]
        if rows:
            sums = {name: sum(row[name] for row in rows) for name in ("times", "in_save", "failures")}
            total["rows"].append({"disturbance": kind, "checked": checked, **sums})
    total["skipped"] = sorted(CHECKED.keys() - {row["disturbance"] for row in total["rows"]})
    return total


def soak_alone(options):
    """Returns the figures of one soak in this process."""
    program = shutil.which(options.program)
    if program is None:
        raise SystemExit(f"[soak] wanted the program sing, got '{options.program}'; ./dev build builds it")
    enter_mount_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("[soak] stopped by SIGTERM"))
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sing-soak-", dir=options.scratch or memory) as folder:
        soak, seconds = run_soak(program, options, pathlib.Path(folder).resolve())
        return figures_of(soak, seconds, options.seed)


def soak_in_processes(options, arguments):
    """Returns the summed figures of soaks that run at the same time, each with a seed of its own."""
    with tempfile.TemporaryDirectory(prefix="sing-soak-") as folder:
        children = []
        for seed in range(options.seed, options.seed + options.processes):
            result = pathlib.Path(folder, f"{seed}.json")
            command = [sys.executable, __file__, *arguments, "--processes", "1", "--seed", str(seed), "--json", str(result)]
            with result.with_suffix(".log").open("wb") as log:
                children.append((subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), result))
        for child, result in children:
            child.wait()
            if not result.exists():
                raise SystemExit(f"[soak] wanted figures, got exit status {child.returncode}:\n{result.with_suffix('.log').read_text()}")
        for line in dict.fromkeys(line for _, result in children for line in result.with_suffix(".log").read_text().splitlines()):
            if line.startswith("soak: "):
                print(line)
        return sum_of([json.loads(result.read_text()) for _, result in children])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="when they are over, the current round is finished")
    parser.add_argument("--processes", type=int, default=1, help="number of soaks at a time, with seeds that count upwards")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice and of the times of the disturbances")
    parser.add_argument("--program", default="sing", help="the program to test")
    parser.add_argument("--faketime", help="path of libfaketime.so.1 if it is not in the folder of the Debian package")
    parser.add_argument("--steps", type=int, default=300, help="steps of each training, with a checkpoint after each step")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a process counts as hung")
    parser.add_argument("--scratch", help="folder for the files; default: in memory if possible")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--table", type=pathlib.Path, nargs="+", help="files of figures to add up; nothing is trained")
    options = parser.parse_args(arguments)
    if options.table:
        figures = sum_of([json.loads(path.read_text()) for path in options.table])
    elif options.processes > 1:
        figures = soak_in_processes(options, arguments)
    else:
        figures = soak_alone(options)
    print_figures(figures)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
