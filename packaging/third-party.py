#!/usr/bin/env python3
"""Writes THIRD-PARTY.md: what the binary is built from, under which terms, with the texts that those terms ask to be carried.

Run in the project's folder after a change of dependencies: python3 packaging/third-party.py
Where a crate offers a choice that contains Apache-2.0, that one is taken: its text is then needed once.
"""
import json
import pathlib
import re
import subprocess
import sys

TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-apple-darwin"]
# C sources inside crates whose terms stand elsewhere than in the crate's own file.
BUNDLED = {
    "libgit2-sys": [("libgit2, GPL-2.0 with linking exception", "libgit2/COPYING")],
    "aws-lc-sys": [("AWS-LC", "aws-lc/LICENSE")],
    "libz-sys": [("zlib", "src/zlib/LICENSE")],
    "libsqlite3-sys": [("SQLite, public domain", None)],
}
NAMES = re.compile(r"^(licen[cs]e|copying|unlicense|notice|copyright)", re.I)


def packages():
    """Crates whose code ends up in the binary on some target: neither proc macros nor what only builds or tests need."""
    named = set()
    for target in TARGETS:
        command = ["cargo", "tree", "--locked", "-e", "normal,no-proc-macro", "--target", target, "--prefix", "none",
                   "--format", "{p}"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        named |= {(line.split()[0], line.split()[1].lstrip("v")) for line in lines if line.strip()}
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    meta = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    crates = [p for p in meta["packages"] if (p["name"], p["version"]) in named and p["source"] is not None]
    return sorted(crates, key=lambda p: (p["name"], p["version"]))


def is_choice_of_apache(expression):
    """Whether Apache-2.0 alone satisfies it."""
    return expression is not None and " AND " not in expression and "Apache-2.0" in re.split(r" OR |/", expression)


def read(path):
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def texts_of(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and NAMES.match(f.name))
    if is_choice_of_apache(package["license"]):
        files = [f for f in files if f.name.lower().startswith("notice")]
    elif " OR " in (package["license"] or "").replace("(", "").replace(")", "") and " AND " not in package["license"]:
        files = [f for f in files if "unlicense" not in f.name.lower()] or files
    return [(f.name, read(f)) for f in files]


def main():
    crates = packages()
    texts, missing = {}, []
    for p in crates:
        own = texts_of(p)
        if not own and not is_choice_of_apache(p["license"]):
            who = ", ".join(re.sub(r" *<[^>]*>", "", author) for author in p["authors"]) or "its authors"
            missing.append(f"{p['name']} {p['version']}, {p['license']}: copyright (c) {who}")
        for _, text in own:
            texts.setdefault(text, []).append(f"{p['name']} {p['version']}")
        for what, file in BUNDLED.get(p["name"], []):
            if file:
                text = read(pathlib.Path(p["manifest_path"]).parent / file)
                texts.setdefault(text, []).append(f"{what} (in {p['name']} {p['version']})")
    apache = read(pathlib.Path("LICENSE-APACHE"))
    texts = {t: who for t, who in texts.items() if t.split() != apache.split()}
    out = ["# Third-party software", "",
           "The octoswarm binary contains the software below. This file is made by `packaging/third-party.py`.", "",
           "Where a licence expression offers Apache-2.0, octoswarm takes it under Apache-2.0; its text is `LICENSE-APACHE`.",
           "libgit2 is under GPL-2.0 with a linking exception, which permits linking the compiled library into combinations",
           "with other programs without any restriction; see its terms below. SQLite is in the public domain.", "",
           "## Crates", "", "| crate | version | licence | source |", "| --- | --- | --- | --- |"]
    for p in crates:
        out.append(f"| {p['name']} | {p['version']} | {p['license'] or 'see its text'} | {p['repository'] or ''} |")
    if missing:
        out += ["", "## Without a text of their own", "",
                "These crates state their licence in their manifest and carry no file with its text. The text of the MIT",
                "licence is in `LICENSE`.", ""]
        out += [f"- {name}" for name in missing]
    out += ["", "## Texts", ""]
    for text, who in sorted(texts.items(), key=lambda item: item[1]):
        fence = "````" if "```" in text else "```"
        out += ["### " + ", ".join(sorted(set(who))), "", f"{fence}text", text, fence, ""]
    data = "\n".join(out)
    pathlib.Path("THIRD-PARTY.md").write_text(data, encoding="utf-8")
    print(f"{len(crates)} crates, {len(texts)} texts, {len(data.encode())} bytes, without text: {missing}", file=sys.stderr)


main()
