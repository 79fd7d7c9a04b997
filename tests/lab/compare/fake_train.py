#!/usr/bin/env python3
"""Replaces `sing` in tests of `sing compare`: immediately writes the run directory that a plan describes.

Called as `sing train TASK … --plan FILE --out DIRECTORY [--resume]`. FILE is JSON, {run name: what it does}; every call is appended
to FILE.calls, one JSON list of its arguments per line. A run has one of these forms:
  {"accuracy": A, "loss": L, "seconds": S}   it finishes; also without an accuracy, and with {"scores": {NAME: X}}
  {"status": "diverged"}                     it diverges
  {"crash": CODE, "says": TEXT}              it leaves a truncated line, says why and exits with CODE
  {"interrupt": true}                        it sends Ctrl-C to its parent, waits for its own and saves; finishes when resumed
  {"waits": true}                            it waits for Ctrl-C and saves; finishes when resumed
Each may also have {"meets": FIFO, "mode": "r" or "w"}: before anything else the run opens the FIFO beside the plan, which
waits until another run opens its other end.
"""

import json
import os
import pathlib
import signal
import sys


def write(directory, lines, cut=""):
    text = "".join(json.dumps(line) + "\n" for line in lines) + cut
    with open(directory / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write(text)


def main():
    arguments = sys.argv[1:]
    plan_file = arguments[arguments.index("--plan") + 1]
    with open(plan_file + ".calls", "a", encoding="utf-8") as calls:
        calls.write(json.dumps(arguments) + "\n")
    directory = pathlib.Path(arguments[arguments.index("--out") + 1])
    plan = json.loads(pathlib.Path(plan_file).read_text(encoding="utf-8"))[directory.name]
    stops = (plan.get("interrupt") or plan.get("waits")) and "--resume" not in arguments
    if stops:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if "meets" in plan and "--resume" not in arguments:
        with open(pathlib.Path(plan_file).parent / plan["meets"], plan["mode"], encoding="utf-8"):
            pass
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps({"task": arguments[1]}), encoding="utf-8")
    step = {"kind": "step", "step": 1, "loss": 1.0}
    print("step 1 of 2")
    if "crash" in plan:
        write(directory, [step], '{"kind":"st')
        print(plan.get("says", f"[fake] {directory.name} cannot go on"), file=sys.stderr)
        return plan["crash"]
    if stops:
        write(directory, [step])
        if plan.get("interrupt"):
            os.kill(os.getppid(), signal.SIGINT)
        signal.sigwait({signal.SIGINT})
        write(directory, [{"kind": "end", "status": "interrupted", "seconds": 1.0}])
        return 130
    status = plan.get("status", "finished")
    end = {"kind": "end", "status": status, "seconds": plan.get("seconds", 1.0)}
    if status == "finished":
        accuracy = plan.get("accuracy")
        end |= {"best_accuracy": accuracy, "final_accuracy": accuracy, "final_loss": plan["loss"]}
        end |= {"scores": plan["scores"]} if "scores" in plan else {}
    write(directory, [step, {"kind": "evaluation", "step": 2, "loss": 0.5, "accuracy": 0.25}, end])
    return 3 if status == "diverged" else 0


if __name__ == "__main__":
    sys.exit(main())
