// What is asked of the MCP server over either transport and in every revision.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { INVALID_PARAMS, METHOD_NOT_FOUND, MODERN, REVISIONS, SECRET, Tools } from "./mcp.js";
import { replaced, sample, texts } from "./sample.js";

/** Arguments with which a tool does something; one that is not named here is called without any, and may refuse that. */
const USE = {
  review_diff: { base: "main" },
  scan: { paths: ["src"] },
  explain_rule: { rule: "eval-of-data" },
  apply_fix: { rules: ["compare-to-none"], dry_run: true },
  plan_issue: { title: "Discounts of more than the price are refused", body: "- [ ] `discount` in src/discount.py refuses them" },
};

const LISTS = { "tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts" };

/** A speaker with the judgement of everything that it hears. */
class Judged {
  constructor(speaker, protocol, tally) {
    // Whatever comes, answers and notices; one HTTP exchange brings its own.
    Object.assign(this, { speaker, protocol, tally, heard: speaker.messages ?? [] });
  }

  get place() {
    return `${this.speaker.transport} ${this.speaker.revision}`;
  }

  /** The message that answers; it has the form of one. */
  async ask(method, params) {
    const { message, messages, status, text } = await this.speaker.request(method, params);
    if (messages) this.heard.push(...messages);
    const told = `${this.place} ${method} ${JSON.stringify(params ?? {}).slice(0, 200)}`;
    if (message === undefined) {
      this.tally.fail(`${told}: no message, but ${status} ${text?.slice(0, 200)}`);
      return { error: { code: NaN, message: "" } };
    }
    this.tally.judged(this.protocol.answer(this.speaker.revision, method, message).map((problem) => `${told}: ${problem}`));
    for (const other of (messages ?? []).filter((one) => one.method !== undefined)) {
      this.tally.judged(this.protocol.notification(this.speaker.revision, other).map((problem) => `${told}: ${problem}`));
    }
    return message;
  }

  /** All pages of a list. */
  async all(method) {
    const found = [];
    let cursor;
    do {
      const { result } = await this.ask(method, cursor === undefined ? {} : { cursor });
      found.push(...(result?.[LISTS[method]] ?? []));
      cursor = result?.nextCursor;
    } while (cursor !== undefined && found.length < 10_000);
    return found;
  }

  that(holds, otherwise) {
    this.tally.that(holds, `${this.place}: ${otherwise}`);
  }
}

/** What is wrong with the progress that was told between a request and its answer. */
function progressProblems(messages, token) {
  const told = messages.filter((one) => one.method === "notifications/progress").map((one) => one.params);
  const steps = told.map((one) => one.progress);
  return [
    ...told.filter((one) => one.progressToken !== token).map((one) => `progress for ${one.progressToken}, which nobody asked for`),
    ...steps.filter((step, at) => at > 0 && step <= steps[at - 1]).map((step) => `progress that does not grow: ${step}`),
  ];
}

/** Everything that the server offers, used once as it is meant to be. Answers what it offers. */
export async function conversation({ tally }, speaker, protocol) {
  const judged = new Judged(speaker, protocol, tally);
  if (speaker.revision === MODERN) {
    const { result } = await judged.ask("server/discover");
    judged.that(REVISIONS.every((revision) => result?.supportedVersions?.includes(revision)), `discovered are ${result?.supportedVersions}`);
  } else {
    tally.judged(protocol.answer(speaker.revision, "initialize", speaker.introduced).map((problem) => `${judged.place}: ${problem}`));
    await judged.ask("ping");
  }
  const listed = {};
  for (const [method, field] of Object.entries(LISTS)) {
    listed[field] = await judged.all(method);
    judged.that(listed[field].length > 0, `${method} lists nothing, so nothing of it was checked`);
  }
  const tools = new Tools(listed.tools);
  const answers = {};
  let progress = 0;
  for (const { name } of listed.tools) {
    const before = judged.heard.length;
    const { result } = await judged.ask("tools/call", { name, arguments: USE[name] ?? {}, _meta: { progressToken: `p-${name}` } });
    const between = judged.heard.slice(before);
    progress += between.filter((one) => one.method === "notifications/progress").length;
    tally.judged(progressProblems(between, `p-${name}`).map((problem) => `${judged.place} ${name}: ${problem}`));
    tally.judged(tools.judge(name, result ?? {}).map((problem) => `${judged.place}: ${problem}`));
    if (name in USE) judged.that(result?.isError !== true, `${name} says ${result?.content?.[0]?.text}`);
    answers[name] = result?.structuredContent;
  }
  judged.that(progress > 0, "no progress was told to a client that asked for it");
  const { scan, review_diff, apply_fix, plan_issue, explain_rule } = answers;
  judged.that(scan?.findings?.some((one) => one.severity === "high" && one.path === "src/discount.py"), "scan found no high finding where there is one");
  judged.that(scan?.findings?.some((one) => one.fix), "scan found nothing that has a fix");
  judged.that(review_diff?.work_tree === true && review_diff.findings.some((one) => one.path === "src/basket.py"), "the review passed over what is not committed");
  judged.that(apply_fix?.written === false && apply_fix.diff.includes("+    if code is None"), `a dry run of the fix says ${JSON.stringify(apply_fix)}`);
  judged.that(plan_issue?.plan || plan_issue?.questions?.length > 0, "there is neither plan nor question");
  judged.that(explain_rule?.id === USE.explain_rule.rule, "another rule was explained");
  for (const { name, arguments: known } of listed.prompts) {
    const given = Object.fromEntries((known ?? []).filter((one) => one.required).map((one) => [one.name, "Discounts"]));
    judged.that((await judged.ask("prompts/get", { name, arguments: given })).result?.messages?.length > 0, `the prompt ${name} is empty`);
  }
  for (const { uri } of listed.resources) {
    const { result, error } = await judged.ask("resources/read", { uri });
    judged.that(result ? result.contents.length > 0 : error.message.length > 0, `${uri} is empty`);
  }
  const ref = { type: "ref/resource", uri: "octoswarm://rules/{id}" };
  const { result } = await judged.ask("completion/complete", { ref, argument: { name: "id", value: "eval" } });
  judged.that(result?.completion?.values.includes("eval-of-data"), "eval is not completed");
  return listed;
}

/** What nobody could mean, and what a tool refuses. */
export async function wrong({ tally }, speaker, protocol, listed) {
  const judged = new Judged(speaker, protocol, tally);
  const refused = async (code, method, params) => {
    const { error } = await judged.ask(method, params);
    judged.that(error?.code === code, `${method} ${JSON.stringify(params)} should be refused with ${code}, but: ${JSON.stringify(error ?? "accepted")}`);
    judged.that(error === undefined || error.message.length > 0, `${method} is refused without a reason`);
  };
  await refusedUnknown(refused, speaker);
  await refused(INVALID_PARAMS, "tools/call", { name: "no_such_tool", arguments: {} });
  for (const params of [{}, { name: 3 }, { name: null }, { name: ["scan"] }, { name: "scan", arguments: [] }, { name: "scan", arguments: "paths" }]) {
    await refused(INVALID_PARAMS, "tools/call", params);
  }
  for (const method of Object.keys(LISTS)) {
    for (const cursor of ["x", "-1", "99999999999999999999"]) await refused(INVALID_PARAMS, method, { cursor });
    // The SDK takes a cursor that is no text for none: the first page, which is wrong for nobody.
    const { error } = await judged.ask(method, { cursor: 5 });
    judged.that(error === undefined || error.code === INVALID_PARAMS, `${method} with a number for a cursor: ${JSON.stringify(error)}`);
  }
  for (const params of [{}, { uri: 1 }]) await refused(INVALID_PARAMS, "resources/read", params);
  // The older revisions have a code of their own for what is not there.
  const absent = speaker.revision === MODERN ? INVALID_PARAMS : -32002;
  for (const uri of ["octoswarm://nothing", "file:///etc/passwd", "octoswarm://runs/../../x", "", "octoswarm://schemas/%2e%2e%2f", "OCTOSWARM://rules"]) {
    await refused(absent, "resources/read", { uri });
  }
  for (const params of [{}, { name: "nothing" }, { name: "plan" }, { name: "plan", arguments: { title: "x", more: "y" } }, { name: "plan", arguments: { title: 1 } }]) {
    await refused(INVALID_PARAMS, "prompts/get", params);
  }
  for (const params of [{}, { ref: { type: "ref/nothing" }, argument: { name: "id", value: "" } }]) await refused(INVALID_PARAMS, "completion/complete", params);

  // What is wrong with a tool's arguments is told to the model, which can call again.
  const tools = new Tools(listed.tools);
  const told = async (name, given, field, why) => {
    const { result } = await judged.ask("tools/call", { name, arguments: given });
    tally.judged(tools.judge(name, result ?? {}).map((problem) => `${judged.place}: ${problem}`));
    const text = result?.content?.[0]?.text ?? "";
    judged.that(result?.isError === true && text.includes(field), `${name} with ${why} says ${JSON.stringify(result ?? null).slice(0, 300)}`);
  };
  for (const { name, inputSchema } of listed.tools) {
    await told(name, { ...USE[name], surprise: 1 }, "surprise", "a field that nobody knows");
    for (const field of inputSchema.required ?? []) {
      const { [field]: _, ...rest } = { ...USE[name] };
      await told(name, rest, field, `no ${field}`);
    }
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
      await told(name, { ...USE[name], [field]: ofAnotherType(schema) }, field, `${field} of another type`);
    }
  }
}

async function refusedUnknown(refused, speaker) {
  for (const method of ["no/such/method", "TOOLS/LIST"]) await refused(METHOD_NOT_FOUND, method, {});
  // No header can say these.
  if (speaker.transport === "stdio") for (const method of ["", "tools/list ", "n\u0000"]) await refused(METHOD_NOT_FOUND, method, {});
  // Removed by the newest revision.
  if (speaker.revision === MODERN) for (const method of ["ping", "logging/setLevel", "resources/subscribe"]) await refused(METHOD_NOT_FOUND, method, {});
}

const ofAnotherType = (schema) => {
  const types = [schema.type].flat();
  return types.includes("string") ? { text: 1 } : types.includes("array") ? "text" : types.includes("boolean") ? "yes" : "many";
};

/** Paths that lead out of every root, so many of them, and texts that mean something else elsewhere. */
const OUTSIDE = 6;
const outside = (material) => ["../secret.txt", "src/../../secret.txt", material.secret, "/etc/passwd", "/proc/self/environ", "link/secret.txt"];
const HOSTILE = [
  "a\u0000b", "-rf", "--output=pwned", "--upload-pack=touch pwned", "src\nevil", "$(touch pwned)", "`touch pwned`; touch pwned", "~/x",
  "file:///etc/passwd", "C:\\x", "\\\\host\\share", "%2e%2e%2fsecret.txt", "", " ", ".", "...", "con", "\u001b[31mred\u0007", "\u202egnp.x",
  "<script>alert(1)</script>", "![x](http://example.com/x)", "é\u0301\u{1f600}", "x".repeat(5_000), "../".repeat(400), "HEAD^{/x}", ":(glob)**", "@{-1}", "refs/heads/../../x",
];

/** Every string that every tool takes, each of them hostile. Nothing is told, made or broken by it. */
export async function hostile({ tally }, speaker, protocol, listed, material, thorough) {
  const judged = new Judged(speaker, protocol, tally);
  const tools = new Tools(listed.tools);
  const before = state(material);
  const values = [...outside(material), ...HOSTILE];
  let calls = 0;
  for (const { name, inputSchema } of listed.tools) {
    const given = { ...sample(inputSchema), ...USE[name], ...(inputSchema.properties?.dry_run && { dry_run: true }) };
    if (name === "apply_fix") given.fingerprints = [];
    const ways = texts({ ...given, ...(name === "apply_fix" && { fingerprints: [""] }) });
    judged.that(ways.length > 0 || !JSON.stringify(inputSchema).includes('"string"'), `${name} takes texts, and none was found`);
    for (const way of ways) {
      for (const [at, value] of values.entries()) {
        if (!thorough && (at + calls) % 6 !== 0 && at >= OUTSIDE) continue;
        const { result, error } = await judged.ask("tools/call", { name, arguments: replaced(given, way, value) });
        calls += 1;
        const where = `${name} with ${way.join(".")} ${JSON.stringify(value).slice(0, 60)}`;
        if (result) tally.judged(tools.judge(name, result).map((problem) => `${judged.place}: ${where}: ${problem}`));
        const said = JSON.stringify(result ?? error);
        judged.that(!said.includes(SECRET) && !said.includes("root:x:") && !said.includes("PATH="), `${where} told what is outside`);
        if (/path/.test(way.join(".")) && at < OUTSIDE) judged.that(result?.isError === true, `${where} was not refused`);
        const text = (result?.content ?? []).map((part) => part.text ?? "").join("");
        judged.that(!/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/.test(text), `${where} has control characters in its text: ${JSON.stringify(text).slice(0, 200)}`);
      }
    }
  }
  for (const value of values) {
    for (const uri of [`octoswarm://rules/${value}`, `octoswarm://schemas/${value}`, `octoswarm://runs/${value}`, `octoswarm://runs/x/${value}`, value]) {
      const { error } = await judged.ask("resources/read", { uri });
      judged.that(error !== undefined && !error.message.includes(SECRET), `the resource ${JSON.stringify(uri).slice(0, 80)} was read`);
    }
    await judged.ask("prompts/get", { name: "review", arguments: { path: value, base: value } });
    await judged.ask("completion/complete", { ref: { type: "ref/resource", uri: "octoswarm://runs/{id}" }, argument: { name: "id", value } });
  }
  judged.that(state(material) === before, `the repository is another one now:\n${state(material)}`);
  return calls;
}

/** All that could have changed: what git sees, what it ignores, and its own settings. */
function state(material) {
  const git = (...args) => execFileSync("git", ["-C", material.root, ...args], { encoding: "utf8" });
  const config = readFileSync(join(material.root, ".git/config"), "utf8");
  // The documents of a change are made where they belong.
  const status = git("status", "--porcelain", "--ignored", "--untracked-files=all").replaceAll(/^\?\? agentd\/changes\/.*\n/gm, "");
  return [status, readdirSync(join(material.root, "..")).join(" "), git("for-each-ref"), git("diff"), config].join("\n");
}

/** A hundred calls at once: each has its own answer. */
export async function parallel({ tally }, speaker, protocol) {
  const judged = new Judged(speaker, protocol, tally);
  const rules = ["eval-of-data", "sql-built-from-text", "weak-hash", "no-such-rule"];
  const calls = Array.from({ length: 100 }, (_, at) => (at % 5 === 0 ? { name: "scan", arguments: { paths: ["src"] } } : { name: "explain_rule", arguments: { rule: rules[at % 4] } }));
  const answers = await Promise.all(calls.map((call) => judged.ask("tools/call", call)));
  const right = answers.filter(({ result }, at) => {
    if (calls[at].name === "scan") return result?.structuredContent?.total > 0;
    return calls[at].arguments.rule === "no-such-rule" ? result?.isError : result?.structuredContent?.id === calls[at].arguments.rule;
  });
  judged.that(right.length === calls.length, `${right.length} of ${calls.length} calls at once were answered as each of them alone is`);
}

/** It still works. */
export async function alive({ tally }, speaker, protocol, after) {
  const judged = new Judged(speaker, protocol, tally);
  const { result } = await judged.ask("tools/call", { name: "explain_rule", arguments: USE.explain_rule });
  judged.that(result?.structuredContent?.id === USE.explain_rule.rule, `no proper answer after ${after}`);
}
