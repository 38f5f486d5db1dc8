// The program at work, written down: the demo's story, and the tests that reach what the story does not.

import { spawn } from "node:child_process";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OCTOSWARM, ROOT } from "./places.js";

/** `{ calls, deliveries, secret, story }` of one telling of the story. */
export async function story(folder, options = []) {
  const file = join(folder, `story-${options.length}.jsonl`);
  const out = await command(OCTOSWARM, ["demo", "--once", "--json", "--record", file, ...options], { folder, name: "demo" });
  const document = JSON.parse(out.stdout);
  return { ...read(file), story: document, status: out.status };
}

/** Calls of those integration tests that work with a box, whatever the story leaves out among them. */
export async function tests(folder, names) {
  // A run of all tests just now may have left its record: `.ci/run` does.
  const left = process.env.OCTOSWARM_TEST_RECORD;
  if (left && existsSync(left)) return read(left);
  const file = join(folder, "tests.jsonl");
  const out = await command("cargo", ["test", "--quiet", "--locked", "--test", "it", "--", ...names], {
    folder,
    name: "tests",
    env: { OCTOSWARM_TEST_RECORD: file },
  });
  if (out.status !== 0) throw new Error(`the tests that were to be recorded fail:\n${out.stdout.slice(-2000)}`);
  return read(file);
}

function read(file) {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
  return {
    calls: lines.filter((line) => line.call).map((line) => line.call),
    deliveries: lines.filter((line) => line.delivery).map((line) => line.delivery),
    documents: lines.filter((line) => line.document).map((line) => line.document),
    secret: lines.find((line) => line.box)?.box.webhook_secret,
  };
}

/** Runs to the end; what it says of itself is kept beside the record. */
export function command(program, args, { folder, name, env = {}, cwd = ROOT }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, RUST_BACKTRACE: "1", ...env } });
    const log = createWriteStream(join(folder, `${name}.log`));
    child.stderr.pipe(log);
    let stdout = "";
    child.stdout.on("data", (data) => (stdout += data));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout }));
  });
}

/** Every call to GitHub that the program can make: its own table. */
export async function table(folder) {
  const out = await command(OCTOSWARM, ["calls"], { folder, name: "calls" });
  return JSON.parse(out.stdout);
}
