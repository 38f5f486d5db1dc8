// Python packages of others, pinned, in a folder of their own: once for each state of the pins.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, renameSync } from "node:fs";
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { HERE, ROOT } from "./places.js";

const PINS = join(HERE, "python/requirements.txt");

/** `run(script, args, input)` runs a script of `python/` with the pinned packages; it answers `{ status, stdout, stderr }`. */
export function python() {
  const program = interpreter();
  const told = spawnSync(program, ["-c", "import sys; print(sys.implementation.cache_tag)"], { encoding: "utf8" }).stdout.trim();
  const hash = createHash("sha256").update(readFileSync(PINS)).update(told).digest("hex").slice(0, 16);
  const scratch = join(ROOT, "target/conformance");
  const packages = join(scratch, `python-${hash}`);
  if (!existsSync(packages)) {
    mkdirSync(scratch, { recursive: true });
    // What older pins left, or an installation that was cut short.
    for (const name of readdirSync(scratch)) if (name.startsWith("python-")) rmSync(join(scratch, name), { recursive: true });
    console.log("installing the pinned Python packages");
    const unfinished = `${packages}.unfinished`;
    // Wheels alone: nothing of a package is run in order to install it.
    const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"];
    const out = spawnSync(program, [...args, "--target", unfinished, "--requirement", PINS], { encoding: "utf8" });
    if (out.status !== 0) {
      throw new Error(`the pinned Python packages could not be installed: is a package index within reach? \`pip config list\` says which\n${out.stderr.slice(-2000)}`);
    }
    renameSync(unfinished, packages);
  }
  const env = {
    ...process.env,
    PYTHONPATH: packages,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONNOUSERSITE: "1",
    FASTMCP_CHECK_FOR_UPDATES: "off",
    FASTMCP_SHOW_SERVER_BANNER: "false",
  };
  return {
    run: (script, args, input = "") =>
      new Promise((resolve, reject) => {
        const child = spawn(program, [join(HERE, "python", script), ...args], { cwd: ROOT, env });
        let stdout = "";
        let stderr = "";
        child.stdout.on("data", (data) => (stdout += data));
        child.stderr.on("data", (data) => (stderr += data));
        child.on("error", reject);
        child.on("close", (status) => resolve({ status, stdout, stderr }));
        child.stdin.on("error", () => {});
        child.stdin.end(input);
      }),
  };
}

function interpreter() {
  const usable = (name) => spawnSync(name, ["-c", "import sys, pip; sys.exit(sys.version_info < (3, 10))"]).status === 0;
  const found = () => ["python3", "python3.13", "python3.12", "python3.11", "python3.10"].find(usable);
  if (found()) return found();
  if (process.getuid?.() === 0 && spawnSync("sh", ["-c", "command -v apt-get"]).status === 0) {
    console.log("Python with pip is missing: installing it with apt-get");
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawnSync("apt-get", ["update", "-qq"], { stdio: "inherit", env });
    spawnSync("apt-get", ["install", "-qq", "-y", "--no-install-recommends", "python3", "python3-pip"], { stdio: ["ignore", "ignore", "inherit"], env });
    if (found()) return found();
  }
  throw new Error("Python 3.10 or newer with pip is needed: install it (Debian: apt-get install python3 python3-pip, as root), then run this again");
}
