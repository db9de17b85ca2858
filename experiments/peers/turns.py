"""Engines that take turns.

An engine is a process that answers each line of its input, a question in JSON, with a line
of JSON: how much work it did, in how many seconds on the wall and of the processor, and what
else there is to say. Its first line says that it is ready. What else the machine does meets
engines alike that take turns of a few tenths of a second.
"""

import json
import os
import select
import subprocess
import sys
import time

READY = 180  # seconds until an engine must be ready
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def serve(answer):
    """Says that this engine is ready and answers the lines of standard input until it ends."""
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def repeat(seconds, once):
    """Does a piece of work until the seconds are over, once at least."""
    work, wall, processor = 0.0, time.perf_counter(), time.process_time()
    while not work or time.perf_counter() - wall < seconds:
        work += once()
    return {"work": work, "wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


def used(pid):
    """Returns the processor seconds of a process; 0 where the machine does not say."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy():
    """Returns the processor seconds of the whole machine; 0 where it does not say."""
    try:
        with open("/proc/stat") as f:
            user, nice, system, _, _, irq, soft, steal = (int(t) for t in f.readline().split()[1:9])
    except OSError:
        return 0.0
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class Turns:
    """Some engines and what they answered.

    cells[key] has for each engine {"turns": [[work, wall, processor], ...], "said": the last
    answer's other fields}, or {"why": why there is no answer}.
    """

    def __init__(self, commands, limit, environment=None):
        self.limit, self.cells, self.why = limit, {}, {}
        self.environment = {**os.environ, **(environment or ONE_THREAD)}
        self.seconds = self.others = 0.0
        self.spent, self.running = {}, {}
        for name, command in commands.items():
            self.begin(name, command)
        for name in commands:
            self.wait(name)

    def begin(self, name, command):
        self.spent[name] = 0.0
        self.running[name] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)

    def wait(self, name):
        if not isinstance(self.read(name, READY), dict):
            self.drop(name, "not ready")

    def join(self, name, command):
        """Begins one more engine."""
        self.begin(name, command)
        self.wait(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.running):
            self.drop(name, None)

    def drop(self, name, why):
        """Ends an engine."""
        p = self.running.pop(name)
        if why:
            p.kill()
            self.why[name] = why
        p.stdin.close()
        p.wait()
        p.stdout.close()

    def read(self, name, seconds):
        """Returns the next answer of an engine, or why there is none: it ended, or took longer."""
        out = self.running[name].stdout
        if not select.select([out], [], [], seconds)[0]:
            return f"> {seconds:g} s"
        line = out.readline()
        return json.loads(line) if line else "failed"

    def ask(self, key, question, only=None):
        """Asks every engine in turn, and keeps the answers under a key unless that is None.

        An engine that does not answer within the limit is ended; one that has used it up in
        earlier turns is not asked again.
        """
        if key is not None:
            cell = self.cells.setdefault(key, {})
        for name in list(self.running):
            if only and name not in only:
                continue
            if key is not None and self.spent[name] > self.limit and cell.get(name):
                continue
            answer = self.turn(name, question)
            if isinstance(answer, str):
                self.drop(name, answer)
            elif "error" in answer:
                self.drop(name, answer["error"])
            elif key is not None:
                one = cell.setdefault(name, {"turns": []})
                answer = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in answer.items()}
                one["turns"].append([answer.pop(field) for field in ("work", "wall", "processor")])
                if answer:
                    one["said"] = answer
        if key is not None:
            for name, why in self.why.items():
                cell.setdefault(name, {"why": why})

    def turn(self, name, question):
        """Returns what read does, and counts what others used of the processors meanwhile."""
        p = self.running[name]
        start, machine, own = time.perf_counter(), busy(), self.own()
        try:
            p.stdin.write(json.dumps(question) + "\n")
            p.stdin.flush()
        except BrokenPipeError:
            return "failed"
        answer = self.read(name, self.limit)
        seconds = time.perf_counter() - start
        self.spent[name] += seconds
        self.seconds += seconds
        self.others += (busy() - machine) - (self.own() - own)
        return answer

    def own(self):
        """Returns the processor seconds of this process and the engines that run."""
        return time.process_time() + sum(used(p.pid) for p in self.running.values())

    def share(self):
        """Returns the share of the processors that others used during the turns; None where that is not known."""
        if not busy():
            return None
        return round(max(0.0, self.others / max(self.seconds, 1e-9) / os.cpu_count()), 3)
