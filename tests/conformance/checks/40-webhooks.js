// All of GitHub's published webhook examples, whole and with single fields broken, signed and sent to the real server.

import { sign } from "@octokit/webhooks-methods";
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { fromPackage } from "../lib/places.js";
import { description, table } from "../lib/material.js";
import { mutations, pointers, pointersRead } from "../lib/mutate.js";
import { headers, start } from "../lib/server.js";

export const title = "GitHub's webhook examples, whole and broken, at the running server";

const CONNECTIONS = 16;
/** More than this many bytes on top of what the process held after the whole examples is a leak. */
const GROWTH = 48 * 1024 * 1024;
/** Jobs are stuck when none has ended for so long: the server waits half a minute for what GitHub does not show yet. */
const PATIENCE = 90_000;

export default async function check(t) {
  const { tally, full } = t;
  const events = JSON.parse(fromPackage("@octokit/webhooks-examples/api.github.com/index.json"));
  const examples = events.flatMap(({ name, examples }) => examples.map((payload, index) => ({ name, index, payload })));
  tally.that(examples.length >= 329, `the package holds ${examples.length} examples`);
  const { events: handled } = await table(t);
  const read = pointersRead();
  tally.that(read.includes("/pull_request/head/sha") && read.includes("/comment/body"), "the parser's source could not be searched");

  const whole = examples.map(({ name, index, payload }) => ({ name, what: `${name} ${index}`, body: JSON.stringify(payload) }));
  const broken = [];
  for (const { name, index, payload } of examples) {
    const ours = handled.includes(name);
    const top = Object.keys(payload).map((key) => `/${key}`);
    const sample = pointers(payload).filter((p) => !top.includes(p) && chosen(`${name}${index}${p}`, full ? (ours ? 2 : 6) : ours ? 40 : 300));
    for (const pointer of new Set([...top, ...(ours ? read : []), ...sample])) {
      for (const { what, body } of mutations(payload, pointer)) broken.push({ name, what: `${name} ${index} with ${what}`, body });
    }
  }

  const server = await start(t.folder, "webhooks");
  t.atEnd(() => server.stop());
  const began = performance.now();
  await deliver(server, whole, tally);
  // The same once more: caches and buffers have grown to what the load asks for.
  await deliver(server, whole.map((delivery) => ({ ...delivery, what: `${delivery.what} again` })), tally);
  const before = server.memory();
  await deliver(server, broken, tally);
  const seconds = (performance.now() - began) / 1000;
  tally.note(`${whole.length} examples and ${broken.length} broken ones in ${seconds.toFixed(1)} s`);

  // Every delivery is settled or set aside for a person to see, every job has ended.
  let [open, left, moved] = [[], Infinity, Date.now()];
  do {
    await wait(500);
    open = server.rows("select kind, state, count(*) as count from job where state not in ('completed', 'discarded', 'cancelled') group by 1, 2");
    const still = open.reduce((sum, row) => sum + row.count, 0);
    if (still !== left) [left, moved] = [still, Date.now()];
  } while (left > 0 && Date.now() - moved < PATIENCE && server.alive());
  tally.judged(open.map((row) => `${row.count} jobs of the kind ${row.kind} are still ${row.state}`));
  const states = server.rows("select state, count(*) as count from delivery group by 1");
  tally.note(`deliveries: ${states.map((row) => `${row.count} ${row.state}`).join(", ")}`);
  // This GitHub refuses every question: a delivery whose job was given up over that keeps its state, and the job says why.
  const [{ given_up }] = server.rows("select count(*) as given_up from job where kind = 'delivery' and state = 'discarded' and last_error like '%GitHub refused%'");
  const unsettled = states.find((row) => row.state === "received")?.count ?? 0;
  tally.that(unsettled === given_up, `${unsettled} deliveries are not settled, ${given_up} jobs were given up because GitHub refused`);
  tally.that(states.some((row) => row.state === "quarantined"), "no broken delivery was set aside");
  tally.that(states.some((row) => row.state === "handled"), "no delivery was handled");
  const stored = states.reduce((sum, row) => sum + row.count, 0);
  tally.that(stored === 2 * whole.length + broken.length, `${stored} deliveries are stored, ${2 * whole.length + broken.length} were sent`);

  const after = server.memory();
  if (before !== null) {
    const mib = (bytes) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
    tally.note(`memory: ${mib(before)} after the whole ones, ${mib(after)} at the end; ${mib(GROWTH)} more would be too much`);
    tally.that(after - before < GROWTH, `memory grew from ${mib(before)} to ${mib(after)}`);
  }
  tally.that(server.alive(), "the server is gone");
  tally.that((await server.get("/readyz")).status === 200, "the server is not ready any more");
  const log = server.log();
  const panics = log.split("\n").filter((line) => /panicked|RUST_BACKTRACE/.test(line));
  tally.judged([...new Set(panics)].map((line) => `the log tells of a panic: ${line}`));

  // What it asked of GitHub meanwhile, with strangers' values in it.
  const github = description(t);
  const asked = new Map(server.github.calls.filter((c) => c.path !== "/graphql").map((c) => [JSON.stringify(c), c]));
  for (const call of asked.values()) tally.judged(github.judge(call));
  tally.judged([...new Set(server.github.problems)]);
  tally.note(`${server.github.calls.length} calls to GitHub meanwhile, ${asked.size} different ones judged`);

  const unsigned = await server.post(headers("push", `sha256=${"0".repeat(64)}`), "{}");
  tally.that(unsigned.status === 401, "self-test: a wrong signature would have been taken for a success");
  tally.notices("a field", mutations(examples[0].payload, "/action"));
}

/** One of so many, always the same ones. */
const chosen = (text, of) => createHash("sha256").update(text).digest().readUInt32BE() % of === 0;

async function deliver(server, deliveries, tally) {
  const queue = deliveries.values();
  const work = async () => {
    for (const { name, what, body } of queue) {
      try {
        const { status, text } = await server.post(headers(name, await sign(server.secret, body)), body);
        tally.that(status >= 200 && status < 300, `${what}: ${status} ${text.slice(0, 100)}`);
      } catch (error) {
        tally.fail(`${what}: ${error.message}`);
        if (!server.alive()) return;
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}
