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

/** Every method that the Inspector has, and what it says of mistakes. */
export async function inspected({ tally }, ask, listed, transport) {
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
  const names = (list) => `${(list ?? []).map((one) => one.name).sort()}`;
  for (const [method, field] of [["tools/list", "tools"], ["prompts/list", "prompts"], ["resources/templates/list", "resourceTemplates"], ["resources/list", "resources"]]) {
    const answer = await asked(["--method", method]);
    // It reads the first page alone.
    const whole = answer.nextCursor === undefined ? listed[field] : listed[field].slice(0, answer[field]?.length);
    tally.that(names(answer[field]) === names(whole), `the Inspector over ${transport} lists other ${field}: ${names(answer[field])}`);
  }
  const tools = new Tools(listed.tools);
  const call = async (name, ...given) => {
    const result = await asked(["--method", "tools/call", "--tool-name", name, ...given.flatMap((pair) => ["--tool-arg", pair])]);
    tally.judged(tools.judge(name, result).map((problem) => `the Inspector over ${transport}: ${problem}`));
    return result;
  };
  tally.that((await call("explain_rule", "rule=eval-of-data")).structuredContent?.id === "eval-of-data", `the Inspector over ${transport}: another rule was explained`);
  tally.that((await call("review_diff", "base=main")).structuredContent?.total > 0, `the Inspector over ${transport}: the review found nothing`);
  tally.that((await call("scan", "limit=1")).structuredContent?.findings?.length === 1, `the Inspector over ${transport}: a page of one finding has another size`);
  tally.that((await call("explain_rule", "rule=no-such-rule")).isError === true, `the Inspector over ${transport}: a rule that is not there was explained`);
  const rules = await asked(["--method", "resources/read", "--uri", "octoswarm://rules"]);
  tally.that(JSON.parse(rules.contents?.[0]?.text ?? "[]").length > 0, `the Inspector over ${transport}: no rules to read`);
  const prompt = await asked(["--method", "prompts/get", "--prompt-name", "plan", "--prompt-args", "title=Discounts"]);
  tally.that(prompt.messages?.[0]?.content?.text?.includes("Discounts"), `the Inspector over ${transport}: the prompt does not hold its argument`);
  for (const options of [["--method", "tools/call", "--tool-name", "no_such_tool"], ["--method", "resources/read", "--uri", "octoswarm://nothing"], ["--method", "prompts/get", "--prompt-name", "nothing"]]) {
    const out = await ask(options);
    tally.that(out.status !== 0 && /there is no (tool|resource|prompt)/.test(out.stderr), `the Inspector over ${transport}, ${options.join(" ")}: ${out.status} ${out.stderr.slice(-300)}`);
  }
}

/** Both Python clients, as older clients open and as newer ones do. Each checks what it is told by itself, too. */
export async function pythonClients({ tally, once }, server, listed, transport) {
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
  for (const library of ["mcp", "fastmcp"]) {
    for (const [mode, revision] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"]]) {
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
  }
}
