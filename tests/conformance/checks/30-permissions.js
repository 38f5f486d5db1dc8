// The manifest's permissions against those that GitHub's documentation asks for each call.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import yaml from "js-yaml";
import { ROOT } from "../lib/places.js";
import { description, table } from "../lib/material.js";

export const title = "the manifest's permissions against those that GitHub documents for the calls";

const LEVELS = ["none", "read", "write"];
const at_least = (has, wants) => LEVELS.indexOf(has ?? "none") >= LEVELS.indexOf(wants);

/** What the published table does not list, and why we ask for it all the same. */
const BEYOND = {};

export default async function check(t) {
  const { tally } = t;
  const documented = alternatives();
  const manifest = yaml.load(readFileSync(join(ROOT, "app-manifest.yml"), "utf8")).default_permissions;
  const { calls, permissions } = await table(t);
  tally.that(
    JSON.stringify(sorted(manifest)) === JSON.stringify(sorted(permissions)),
    `the manifest asks for ${JSON.stringify(manifest)}, the calls need ${JSON.stringify(permissions)}`,
  );

  const github = description(t);
  const unknown = [];
  const proved = {};
  // Whoever goes without a token has no permission; GitHub shows them what is public.
  for (const call of calls.filter((call) => !call.anonymous)) {
    if (["graphql", "git"].includes(call.template)) {
      unknown.push(call.name);
      continue;
    }
    const { operation } = github.endpoint(call.method, call.template);
    const ways = operation && documented.get(`${call.method} ${operation.template}`);
    if (!ways) {
      unknown.push(call.name);
      continue;
    }
    tally.judged(judge(call, ways));
    tally.that(ways.some((w) => at_least(manifest[w.permission], w.access)), `${call.name}: the manifest grants none of ${text(ways)}`);
    for (const way of ways) {
      if (at_least(call.permissions[way.permission], way.access) && !at_least(proved[way.permission], way.access)) {
        proved[way.permission] = way.access;
      }
    }
  }
  // Least: what is asked for is needed by a call that is documented to need it.
  for (const [permission, level] of Object.entries(manifest)) {
    const reason = BEYOND[permission];
    tally.that(at_least(proved[permission], level) || reason, `\`${permission}: ${level}\` is asked for, and no documented call needs it`);
    if (!at_least(proved[permission], level) && reason) tally.note(`${permission}: ${level}: ${reason}`);
  }
  tally.note(`not in the published table, so not derived: ${unknown.join(", ")}`);

  const pull = calls.find((c) => c.name === "CREATE_PULL");
  tally.notices("a permission too low", judge({ ...pull, permissions: { pull_requests: "read" } }, documented.get("POST /repos/{owner}/{repo}/pulls")));
  tally.notices("a permission missing", judge({ ...pull, permissions: {} }, documented.get("POST /repos/{owner}/{repo}/pulls")));
}

/** One of the documented ways has to be among those that the call's own row names. */
function judge(call, ways) {
  // Every App holds `metadata: read`, and what takes no more is open to all.
  const free = (way) => way.permission === "metadata" && way.access === "read";
  const met = ways.some((way) => free(way) || at_least(call.permissions[way.permission], way.access));
  return met ? [] : [`${call.name} is said to need ${JSON.stringify(call.permissions)}, GitHub documents ${text(ways)}`];
}

const text = (ways) => ways.map((w) => `${w.permission}: ${w.access}`).join(" or ");
const sorted = (object) => Object.fromEntries(Object.entries(object).sort());

/** "METHOD path" to every permission that admits it: the published table lists a path once for each. */
function alternatives() {
  const published = createRequire(import.meta.url)("@octokit/app-permissions")["api.github.com"];
  const found = new Map();
  for (const [permission, levels] of Object.entries(published.permissions)) {
    for (const access of ["read", "write"]) {
      for (const route of levels[access] ?? []) {
        found.set(route, [...(found.get(route) ?? []), { permission, access }]);
      }
    }
  }
  return found;
}
