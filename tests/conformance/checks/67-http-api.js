// The HTTP API against its own description, by a generator of requests that is not ours.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { OCTOSWARM, ROOT } from "../lib/places.js";
import { command } from "../lib/record.js";

export const title = "the HTTP API against its OpenAPI description, by schemathesis";
export const only = "full";

const VERSION = "4.32.5";
const TOKEN = "a token that guards nothing once the check has ended";
// Of each operation and phase; the same ones each time.
const EXAMPLES = 40;
// Of each of four runs.
const SECONDS = 10;

export default async function check(t) {
  const { tally, folder } = t;
  const packages = await installed(folder);
  const server = await serve(folder);
  t.atEnd(server.stop);

  const description = JSON.parse((await command(OCTOSWARM, ["schema", "openapi"], { folder, name: "openapi" })).stdout);
  const served = await server.json("/openapi.json");
  tally.that(JSON.stringify(served.body) === JSON.stringify(description), "the description that is served is not the one that is printed");

  // Real archives of a real codebase, as git makes them.
  let review;
  for (const format of ["zip", "tar", "tar.gz"]) {
    const file = join(folder, `codebase.${format}`);
    const made = spawnSync("git", ["archive", `--format=${format}`, "-o", file, "HEAD", "src/stdx", "docs"], { cwd: ROOT });
    if (made.status !== 0) throw new Error(`git archive: ${made.stderr}`);
    const form = new FormData();
    form.set("codebase", new Blob([readFileSync(file)]), `codebase.${format}`);
    const taken = await server.json("/upload_codebase", { method: "POST", body: form });
    tally.that(taken.status === 200 && taken.body.files > 20, `git's ${format} is not taken: ${JSON.stringify(taken.body)}`);
    const body = JSON.stringify({ id: taken.body.id });
    const begun = await server.json("/trigger_review", { method: "POST", body, headers: { "content-type": "application/json" } });
    tally.that(begun.status === 202, `no review is begun: ${JSON.stringify(begun.body)}`);
    review = begun.body.id;
  }
  let results;
  for (const until = Date.now() + 120_000; Date.now() < until; await wait(200)) {
    results = await server.json(`/get_results?id=${review}`);
    if (results.status !== 202) break;
  }
  tally.that(results.status === 200 && Object.keys(results.body.documentation).length > 3, `no results: ${JSON.stringify(results.body).slice(0, 500)}`);

  // What an archive is no schema can say: that arbitrary bytes are refused is right.
  const settings = (more) => `[[operations]]
include-name = "POST /upload_codebase"
checks.positive_data_acceptance.enabled = false
${more}`;
  const run = async (name, document, more = "", phases = []) => {
    const [file, config] = [join(folder, `${name}.json`), join(folder, `${name}.toml`)];
    writeFileSync(file, JSON.stringify(document));
    writeFileSync(config, settings(more));
    const args = ["-m", "schemathesis.cli", "--no-color", "--config-file", config, "run", file, "--url", server.url,
      "-H", `Authorization: Bearer ${TOKEN}`, "--generation-deterministic", "-n", `${EXAMPLES}`,
      "--max-time", `${SECONDS}`, "--continue-on-failure", "--request-timeout", "20", ...phases];
    // It leaves a folder of its own where it is started.
    return command("python3", args, { folder, name, cwd: folder, env: { PYTHONPATH: packages } });
  };

  const strangers = await run("strangers", description);
  tally.that(strangers.status === 0, `requests of strangers:\n${strangers.stdout.slice(-3000)}`);
  const tested = /(\d+) generated/.exec(strangers.stdout)?.[1] ?? "0";
  tally.that(Number(tested) > 100, `only ${tested} requests were made`);
  // The same with a review that is there: its answers have the forms that are described.
  const ours = `
[[operations]]
include-name = "GET /get_results"
parameters = { "query.id" = "${review}" }

[[operations]]
include-name = "GET /reviews/{id}/events"
parameters = { "path.id" = "${review}" }
`;
  const friends = await run("friends", description, ours, ["--phases", "fuzzing", "--mode", "positive"]);
  tally.that(friends.status === 0, `requests for what is there:\n${friends.stdout.slice(-3000)}`);

  const broken = structuredClone(description);
  delete broken.paths["/get_results"].get.responses["404"];
  const lacking = await run("no-404", broken);
  tally.notices("a status that the description lacks", lacking.status !== 0 && lacking.stdout.includes("/get_results") ? ["seen"] : []);
  const other = structuredClone(description);
  other.components.schemas.ReviewAggregate.required.push("verdict");
  const form = await run("other-form", other, ours, ["--phases", "fuzzing", "--mode", "positive"]);
  tally.notices("an answer of another form", form.status !== 0 && form.stdout.includes("verdict") ? ["seen"] : []);
  tally.that(server.alive(), "the server died");
  tally.note(`${tested} requests by schemathesis ${VERSION}`);
}

/** Installed once into target/. */
async function installed(folder) {
  const packages = join(ROOT, `target/tools/schemathesis-${VERSION}`);
  if (existsSync(packages)) return packages;
  const half = `${packages}.half`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { recursive: true });
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", half, `schemathesis==${VERSION}`];
  const out = await command("python3", args, { folder, name: "install-schemathesis" });
  if (out.status !== 0) {
    const told = readFileSync(join(folder, "install-schemathesis.log"), "utf8").slice(-2000);
    throw new Error(`schemathesis ${VERSION} could not be installed: is there a Python 3 with pip, and a registry within reach?\n${told}`);
  }
  renameSync(half, packages);
  return packages;
}

async function serve(folder) {
  const child = spawn(OCTOSWARM, ["serve", "--api-only", "--listen", "127.0.0.1:0", "--state", join(folder, "api-state")], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, OCTOSWARM_API_TOKEN: TOKEN },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.pipe(createWriteStream(join(folder, "http-api.log")));
  let exited = false;
  child.on("exit", () => (exited = true));
  const [first] = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => [""])]);
  const url = /http:\/\/\S+/.exec(`${first}`)?.[0];
  if (!url) throw new Error("octoswarm serve --api-only does not start: see http-api.log");
  return {
    url,
    alive: () => !exited,
    json: async (path, { headers = {}, ...rest } = {}) => {
      const answer = await fetch(`${url}${path}`, { ...rest, headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
      return { status: answer.status, body: await answer.json() };
    },
    stop: async () => {
      if (exited) return;
      child.kill("SIGTERM");
      await Promise.race([once(child, "exit"), wait(15_000).then(() => child.kill("SIGKILL"))]);
    },
  };
}
