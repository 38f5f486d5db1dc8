// Runs every file of `checks/` in order and counts. A check is a file: see README.md.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Tally } from "./lib/tally.js";
import { HERE, ROOT } from "./lib/places.js";

const [mode, ...names] = process.argv.slice(2);
const full = mode === "--full";

const scratch = join(ROOT, "target/conformance");
mkdirSync(scratch, { recursive: true });
const folder = mkdtempSync(join(scratch, "run-"));

const all = readdirSync(join(HERE, "checks")).filter((name) => name.endsWith(".js")).sort();
const chosen = all.filter((file) => names.length === 0 || names.some((name) => file.includes(name)));
const unknown = names.filter((name) => !all.some((file) => file.includes(name)));
if (unknown.length > 0) {
  console.error(`error: no check is called ${unknown.join(", ")}\nhint: there are ${all.join(", ")}`);
  process.exit(2);
}

// What several checks need, such as the record of the story, is made once.
const shared = new Map();
const once = (name, make) => {
  if (!shared.has(name)) shared.set(name, make());
  return shared.get(name);
};

let passed = 0;
let failed = 0;
const cleanups = [];
try {
  for (const file of chosen) {
    const check = await import(join(HERE, "checks", file));
    if (check.only === "full" && !full) continue;
    const tally = new Tally();
    const began = performance.now();
    try {
      await check.default({ tally, full, folder, once, atEnd: (work) => cleanups.push(work) });
      if (tally.passed + tally.failures.length === 0) tally.fail("nothing was checked");
    } catch (error) {
      tally.fail(`the check itself broke down: ${error.stack ?? error}`);
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const word = tally.failures.length === 0 ? "ok  " : "FAIL";
    console.log(`${word} ${check.title}: ${tally.passed} passed, ${tally.failures.length} failed, ${seconds} s`);
    for (const note of tally.notes) console.log(`       ${note}`);
    for (const failure of tally.failures.slice(0, 50)) console.log(`     ! ${failure}`);
    if (tally.failures.length > 50) console.log(`     ! and ${tally.failures.length - 50} more`);
    passed += tally.passed;
    failed += tally.failures.length;
  }
} finally {
  for (const work of cleanups.reverse()) await work();
}
// What a failure points to is kept.
if (failed === 0) rmSync(folder, { recursive: true, force: true });
else console.log(`logs and records: ${folder}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
