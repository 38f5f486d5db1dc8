// Clients of others, with the server of ours.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { HERE } from "./places.js";
import { Tools } from "./mcp.js";

const PACKAGES = join(HERE, "node_modules/@modelcontextprotocol");

function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data) => (stdout += data));
    child.stderr.on("data", (data) => (stderr += data));
    const late = setTimeout(() => child.kill("SIGKILL"), 120_000);
    child.on("error", reject);
    child.on("close", (status, signal) => {
      clearTimeout(late);
      resolve({ status: status ?? signal, stdout, stderr });
    });
  });
}

/** The Inspector's command line over a command or an address. */
export const inspector = (target) => (options) => run(process.execPath, [join(PACKAGES, "inspector/cli/build/cli.js"), "--cli", ...target, ...options]);

/** Every method that the Inspector has, and what it says of mistakes. A few at a time: each is a process that mostly waits. */
export async function inspected({ tally }, ask, listed, transport) {
  const work = [];
  const asked = async (options) => {
    const out = await ask(options);
    const told = `the Inspector over ${transport}, ${options.join(" ")}`;
    try {
      tally.that(out.status === 0, `${told}: ${out.status} ${out.stderr.slice(-500)}`);
      return JSON.parse(out.stdout);
    } catch {
      tally.fail(`${told}: ${out.stdout.slice(0, 300)} ${out.stderr.slice(-500)}`);
      return {};
    }
  };
  const that = (holds, otherwise) => tally.that(holds, `the Inspector over ${transport}: ${otherwise}`);
  const names = (list) => `${(list ?? []).map((one) => one.name).sort()}`;
  for (const [method, field] of [["tools/list", "tools"], ["prompts/list", "prompts"], ["resources/templates/list", "resourceTemplates"], ["resources/list", "resources"]]) {
    work.push(async () => {
      const answer = await asked(["--method", method]);
      // It reads the first page alone.
      const whole = answer.nextCursor === undefined ? listed[field] : listed[field].slice(0, answer[field]?.length);
      that(names(answer[field]) === names(whole), `it lists other ${field}: ${names(answer[field])}`);
    });
  }
  const tools = new Tools(listed.tools);
  const call = (holds, otherwise, name, ...given) =>
    work.push(async () => {
      const result = await asked(["--method", "tools/call", "--tool-name", name, ...given.flatMap((pair) => ["--tool-arg", pair])]);
      tally.judged(tools.judge(name, result).map((problem) => `the Inspector over ${transport}: ${problem}`));
      that(holds(result), otherwise);
    });
  call((result) => result.structuredContent?.id === "eval-of-data", "another rule was explained", "explain_rule", "rule=eval-of-data");
  call((result) => result.structuredContent?.total > 0, "the review found nothing", "review_diff", "base=main");
  call((result) => result.structuredContent?.findings?.length === 1, "a page of one finding has another size", "scan", "limit=1");
  call((result) => result.isError === true, "a rule that is not there was explained", "explain_rule", "rule=no-such-rule");
  work.push(async () => {
    const rules = await asked(["--method", "resources/read", "--uri", "octoswarm://rules"]);
    that(JSON.parse(rules.contents?.[0]?.text ?? "[]").length > 0, "no rules to read");
  });
  work.push(async () => {
    const prompt = await asked(["--method", "prompts/get", "--prompt-name", "plan", "--prompt-args", "title=Discounts"]);
    that(prompt.messages?.[0]?.content?.text?.includes("Discounts"), "the prompt does not hold its argument");
  });
  for (const options of [["--method", "tools/call", "--tool-name", "no_such_tool"], ["--method", "resources/read", "--uri", "octoswarm://nothing"], ["--method", "prompts/get", "--prompt-name", "nothing"]]) {
    work.push(async () => {
      const out = await ask(options);
      that(out.status !== 0 && /there is no (tool|resource|prompt)/i.test(out.stderr), `${options.join(" ")}: ${out.status} ${out.stderr.slice(-300)}`);
    });
  }
  await Promise.all([0, 1, 2].map(async () => {
    for (let next = work.shift(); next; next = work.shift()) await next();
  }));
}

/** Both Python clients, as older clients open and as newer ones do. Each checks what it is told by itself, too. */
export async function pythonClients({ tally, once, full }, server, listed, transport) {
  const interpreter = once("python", () => {
    throw new Error("the protocol's schemas come first");
  });
  const plan = {
    ...server,
    calls: [
      { name: "explain_rule", arguments: { rule: "eval-of-data" } },
      { name: "scan", arguments: {} },
      { name: "review_diff", arguments: { base: "main" } },
      { name: "apply_fix", arguments: { rules: ["compare-to-none"], dry_run: true } },
      { name: "scan", arguments: { paths: ["../secret.txt"] } },
    ],
    resource: "octoswarm://rules",
    prompt: { name: "plan", arguments: { title: "Discounts" } },
    completion: { uri: "octoswarm://rules/{id}", argument: { name: "id", value: "eval" } },
  };
  const tools = new Tools(listed.tools);
  const names = (list) => `${list.map((one) => one.name).sort()}`;
  const each = ["mcp", "fastmcp"].map(async (library) => {
    for (const [mode, revision] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"]]) {
      // The one speaks by the other's means.
      if (!full && library === "fastmcp" && mode === "legacy") continue;
      const out = await interpreter.run("mcp_clients.py", [library], JSON.stringify({ ...plan, mode }));
      const told = `${library} over ${transport} (${mode})`;
      if (out.status !== 0) {
        tally.fail(`${told}: ${out.stderr.slice(-1500)}`);
        continue;
      }
      const seen = JSON.parse(out.stdout);
      tally.that(seen.revision === revision, `${told} speaks ${seen.revision}`);
      tally.that(seen.server?.name === "octoswarm" && seen.instructions?.length > 0, `${told} does not know whom it speaks with`);
      for (const [field, known] of [["tools", listed.tools], ["resources", listed.resources], ["templates", listed.resourceTemplates], ["prompts", listed.prompts]]) {
        tally.that(names(seen[field]) === names(known), `${told} lists other ${field}: ${names(seen[field])}`);
      }
      for (const [at, result] of seen.calls.entries()) {
        tally.judged(tools.judge(plan.calls[at].name, result).map((problem) => `${told}: ${problem}`));
        tally.that((result.isError ?? false) === (at === 4), `${told}: call ${at} says ${result.content?.[0]?.text?.slice(0, 200)}`);
      }
      tally.that(seen.resource.contents.length === 1 && seen.prompt.messages.length === 1, `${told}: resource or prompt is empty`);
      tally.that(seen.completion.completion.values.includes("eval-of-data"), `${told}: eval is not completed`);
    }
  });
  await Promise.all(each);
}
