#!/usr/bin/env python3
"""Plays the improvement agent: python3 improvement_agent.py MESSAGE_DIR

Looks at the Python files of a change. On lines that the change wrote it tells of a bare `except:`, of a default argument that
every call shares, and of a function that has grown long. Needs Python 3.8 and nothing else, on Linux or macOS.

docs/agent-protocol.md says what is asked and answered, docs/messages.md how messages are read and written. To write an agent
of your own, replace `review`.
"""
import ast
import fcntl
import hashlib
import json
import os
import re
import secrets
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

ME = "improvement"
LONG = 60  # lines of a function
INLINE = 256 * 1024  # bytes of a result that go into the message itself
LARGEST, FULL, ATTEMPTS = 10 * 1024 * 1024, 1000, 4
ID = re.compile(r"[a-z0-9_]{1,40}_[0-9]{8}_[0-9]{6}_([0-9]{3,}|[0-9a-f]{6})")


# What this agent is for.


def review(given):
    """The items for one task. `given` is the AgentInput that the assignment names."""
    facts = given["facts"]
    written = {entry["path"]: set(entry["lines"]) for entry in facts["changed"]}
    items = []
    for file in facts["files"]:
        if file["path"].endswith(".py"):
            try:
                tree = ast.parse(file["content"])
            except (SyntaxError, ValueError):
                continue  # octoswarm tells of files that do not parse
            items += look(file["path"], tree, written.get(file["path"], set()))
    return items


def look(path, tree, lines):
    def item(line, severity, description, suggestion):
        return {"type": "improvement", "severity": severity, "file": path, "line": line, "description": description,
                "suggestion": suggestion}

    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None and node.lineno in lines:
            yield item(node.lineno, "medium", "A bare `except:` catches KeyboardInterrupt and SystemExit as well.",
                       "Name the exceptions, or write `except Exception:`.")
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for default in node.args.defaults + [one for one in node.args.kw_defaults if one]:
            if isinstance(default, (ast.List, ast.Dict, ast.Set)) and default.lineno in lines:
                yield item(default.lineno, "medium", f"Every call of `{node.name}` shares this default argument.",
                           "Take None as the default, and make a new one in the function.")
        length = node.end_lineno - node.lineno + 1
        touched = sorted(lines.intersection(range(node.lineno, node.end_lineno + 1)))
        if length > LONG and touched:
            yield item(touched[0], "low", f"`{node.name}` has {length} lines.", "Move a part that has a name of its own out of it.")


# How it talks.


def now():
    return datetime.now(timezone.utc)


def iso(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text):
    """A time of a message. Fractions beyond microseconds are more than Python reads."""
    text = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)


def write(path, data):
    """The whole file appears at once."""
    staged = path.with_name(path.name + ".tmp")
    staged.write_bytes(data)
    os.replace(staged, path)


def put(path, value):
    write(path, json.dumps(value).encode())


class Agent:
    def __init__(self, root):
        self.root = Path(root)
        self.inbox, self.outbox = self.root / "inbox" / ME, self.root / "outbox" / ME
        self.processed, self.failed = self.root / "processed", self.root / "failed"
        for folder in (self.inbox, self.outbox, self.processed, self.failed):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def send(self, to, kind, content, reply_to):
        inbox = self.root / "inbox" / to
        inbox.mkdir(mode=0o700, parents=True, exist_ok=True)
        while sum(1 for _ in inbox.glob("*.json")) >= FULL:
            time.sleep(1)
        name = f"{ME}_{now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
        message = {"message_id": name, "from": ME, "to": to, "type": kind, "timestamp": iso(now()), "content": content,
                   "reply_to": reply_to}
        put(self.outbox / f"{name}.json", message)
        put(inbox / f"{name}.json", message)

    def claim(self, path):
        """The open file if the message is ours now, else None. The lock goes with the process, however that ends."""
        claimed = path.with_suffix(".claimed")
        try:
            file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path != claimed:
                os.link(path, claimed)  # unlike a rename it never overwrites
                os.unlink(path)
            if os.path.samestat(os.fstat(file.fileno()), os.lstat(claimed)):
                return file
        except OSError:
            pass  # somebody else was faster
        file.close()
        return None

    def finish(self, claimed, reason=None, attempts=0):
        folder = self.failed if reason else self.processed
        os.replace(claimed, folder / f"{claimed.stem}.json")
        record = claimed.with_suffix(".claim")
        if record.exists():
            record.unlink()
        if reason:
            put(folder / f"{claimed.stem}.error.json",
                {"original_name": f"{claimed.stem}.json", "reason": reason, "attempts": attempts, "time": iso(now()),
                 "agent": ME})

    def handle(self, path):
        file = self.claim(path)
        if file is None:
            return
        claimed, record = path.with_suffix(".claimed"), path.with_suffix(".claim")
        with file:
            if (self.processed / f"{path.stem}.json").exists():
                return self.finish(claimed)
            attempts = 0
            try:
                attempts = json.loads(record.read_text())["attempts"] if record.exists() else 0
                body = file.read(LARGEST + 1)
                message = json.loads(body)
                ends = message.get("timeout")
                ends = ends and moment(message["timestamp"]) + timedelta(seconds=ends)
                if len(body) > LARGEST or message["message_id"] != path.stem or message["to"] != ME:
                    raise ValueError("too large, or not for us")
                if message["type"] != "task_assignment":
                    return self.finish(claimed)
                place = Path(message["content"]["data_sources"][0])
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
                return self.finish(claimed, f"malformed: {error!r}", attempts)
            if ends and now() >= ends or not place.is_file():
                return self.finish(claimed)  # nobody waits for it any more
            if attempts >= ATTEMPTS:
                return self.give_up(claimed, message, "whoever handled it died", attempts)
            attempts += 1
            put(record, {"attempts": attempts, "process": os.getpid()})
            try:
                self.work(message, place)
                self.finish(claimed)
            except Exception as error:  # whatever `review` stumbled over
                self.give_up(claimed, message, repr(error), attempts)

    def give_up(self, claimed, message, why, attempts):
        """octoswarm decides whether it asks again."""
        task = message["message_id"]
        self.send(message["from"], "error_report",
                  {"error_type": "handling_failed", "error_message": why, "context": {}, "impact_level": "medium",
                   "related_task_id": task}, task)
        self.finish(claimed, why, attempts)

    def work(self, message, place):
        began, task, asker = time.monotonic(), message["message_id"], message["from"]
        self.send(asker, "task_acceptance",
                  {"task_id": task, "status": "accepted", "estimated_completion": message["content"]["deadline"],
                   "agent_capacity": 1.0}, task)
        given = json.loads(place.read_text(encoding="utf-8"))
        items = review(given)
        files = [file["path"] for file in given["facts"].get("files", [])]
        self.send(asker, "research_result",
                  {"task_id": task, "status": "completed", "execution_time_minutes": (time.monotonic() - began) / 60,
                   "data_points_collected": len(items), "sources_accessed": files,
                   "key_findings": [f"{len(items)} items in {len(files)} files"],
                   "raw_data": carried(items, place, task), "confidence_score": 1.0, "data_freshness_hours": 0.0,
                   "warnings": []}, task)

    def due(self, path):
        try:
            wait = json.loads(path.with_suffix(".claim").read_text()).get("not_before")
            return wait is None or now() >= moment(wait)
        except (OSError, ValueError):
            return True

    def serve(self):
        while True:
            names = [path for ending in ("json", "claimed") for path in self.inbox.glob(f"*.{ending}")]
            for path in sorted(path for path in names if ID.fullmatch(path.stem) and self.due(path)):
                self.handle(path)
            time.sleep(0.25)


def carried(result, place, task):
    """A result in its message, or in a file beside the input where it is too large for one."""
    body = json.dumps(result).encode()
    if len(body) <= INLINE:
        return {"body": result}
    path = place.with_name(f"{task}.result.json")
    write(path, body)
    return {"path": str(path), "sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Agent(sys.argv[1]).serve()
