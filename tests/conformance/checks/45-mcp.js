// The MCP server over standard input and output: its own messages against the protocol's schemas, and clients of others.

import { createWriteStream, readFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { alive, conversation, hostile, parallel, wrong } from "../lib/mcp-cases.js";
import { INVALID_REQUEST, MODERN, PARSE_ERROR, REVISIONS, Stdio, Tools, UNSUPPORTED_VERSION, endAll, meta, protocol, repository, started } from "../lib/mcp.js";
import { inspector, inspected, pythonClients } from "../lib/mcp-clients.js";
import { OCTOSWARM } from "../lib/places.js";

export const title = "the MCP server on standard input and output, against the protocol's schemas and clients of others";

export default async function check(t) {
  const { tally } = t;
  t.atEnd(endAll);
  const material = t.once("mcp-material", () => repository(t.folder));
  const judge = await protocol(t);
  const log = join(t.folder, "mcp-stdio.log");
  const stop = async (server, how = "") => {
    const code = await server.stop();
    tally.that(code === 0, `stdio ${server.revision}${how}: it ended with ${code}`);
    tally.judged(server.noise.map((line) => `stdio ${server.revision}: on standard output: ${line.slice(0, 200)}`));
    const foreign = server.messages.filter((one) => one.method !== undefined && one.id !== undefined);
    tally.judged(foreign.map((one) => `stdio ${server.revision}: the server asked for ${one.method}`));
    for (const one of server.messages.filter((one) => one.method !== undefined)) tally.judged(judge.notification(server.revision, one));
    tally.that(server.messages.every((one) => one.error?.code !== -32603), "an internal error was told");
  };

  selfTests(tally, judge);

  // Every revision: what is offered is used, what is wrong is refused, a hundred calls at once.
  let listed;
  let strings = 0;
  for (const revision of REVISIONS) {
    const server = await Stdio.open(material, log, { revision });
    listed = await conversation(t, server, judge);
    const thorough = t.full;
    await wrong(t, server, judge, listed);
    if (t.full || revision === MODERN) strings += await hostile(t, server, judge, listed, material, thorough);
    await parallel(t, server, judge);
    await alive(t, server, judge, "a hundred calls at once");
    await stop(server);
  }
  tally.note(`${listed.tools.length} tools, ${listed.resources.length} resources, ${listed.prompts.length} prompts; ${strings} calls with hostile strings`);

  await versions(t, material, log, judge);
  await lines(t, material, log, judge, stop);
  await cancelled(t, material, log, judge, stop);
  await endings(t, material, log);

  const command = [OCTOSWARM, "mcp", "--root", material.root, "--state", material.state];
  await Promise.all([
    inspected(t, inspector(command), listed, "stdio"),
    pythonClients(t, { command, log: join(t.folder, "mcp-python.log") }, listed, "stdio"),
  ]);
  tally.note("spoken raw: 2025-06-18, 2025-11-25, 2026-07-28; by the Inspector: 2025-06-18; by mcp and fastmcp: 2025-11-25, 2026-07-28");
}

/** The judgements notice what is broken. */
function selfTests(tally, judge) {
  const answer = (result) => ({ jsonrpc: "2.0", id: 1, result });
  const list = { tools: [{ name: "x", inputSchema: { type: "object" } }] };
  const modern = { ...list, resultType: "complete", ttlMs: 0, cacheScope: "private" };
  for (const revision of REVISIONS) {
    tally.judged(judge.answer(revision, "tools/list", answer(modern)));
    tally.notices(`${revision}: a tool without a schema`, judge.answer(revision, "tools/list", answer({ ...modern, tools: [{ name: "x" }] })));
    tally.notices(`${revision}: an answer without an id`, judge.answer(revision, "tools/list", { jsonrpc: "2.0", result: modern }));
    tally.notices(`${revision}: an error without a code`, judge.answer(revision, "tools/list", { jsonrpc: "2.0", id: 1, error: { message: "x" } }));
    tally.notices(`${revision}: progress without a token`, judge.notification(revision, { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } }));
    tally.notices(`${revision}: a notice that nobody knows`, judge.notification(revision, { jsonrpc: "2.0", method: "notifications/x" }));
  }
  tally.notices("a list of the newest revision that does not say how long it holds", judge.answer(MODERN, "tools/list", answer(list)));
  const tools = new Tools([{ name: "x", inputSchema: { type: "object" }, outputSchema: { type: "object", required: ["a"] } }]);
  const content = [{ type: "text", text: "x" }];
  tally.notices("structured content of another form", tools.judge("x", { content, structuredContent: {} }));
  tally.notices("no structured content", tools.judge("x", { content }));
  tally.notices("an answer without text", tools.judge("x", { content: [], structuredContent: { a: 1 } }));
}

/** How a revision is agreed on. */
async function versions(t, material, log, judge) {
  const { tally } = t;
  const asked = async (revision, message) => {
    const server = new Stdio(material, log, { revision });
    const { message: answer } = await server.send(message);
    return { answer, server };
  };
  const introduce = (protocolVersion) => ({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion, capabilities: {}, clientInfo: { name: "x", version: "1" } } });
  // What is not spoken is answered with what is; whether that will do is the client's decision.
  for (const revision of ["1900-01-01", "2099-01-01", "x", ""]) {
    const { answer, server } = await asked("2025-11-25", introduce(revision));
    tally.that(REVISIONS.includes(answer.result?.protocolVersion) && answer.result.protocolVersion !== MODERN, `asked for ${revision} by a handshake: ${JSON.stringify(answer).slice(0, 200)}`);
    await server.stop();
  }
  for (const revision of ["1900-01-01", "2099-01-01", "x"]) {
    const { answer, server } = await asked(MODERN, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta(revision) } });
    tally.that(answer.error?.code === UNSUPPORTED_VERSION && answer.error.data?.supported?.includes(MODERN) && answer.error.data.requested === revision, `${revision} with a request: ${JSON.stringify(answer).slice(0, 200)}`);
    tally.judged(judge.answer(MODERN, "tools/list", answer));
    // The next request is judged by itself.
    await alive(t, server, judge, `a request of ${revision}`);
    await server.stop();
  }
  for (const field of Object.keys(meta())) {
    const { [field]: _, ...rest } = meta();
    const { answer, server } = await asked(MODERN, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: rest } });
    const optional = field.endsWith("/clientInfo");
    tally.that(optional ? answer.result !== undefined : answer.error?.code === -32602, `a request without ${field}: ${JSON.stringify(answer).slice(0, 200)}`);
    await server.stop();
  }
}

/** Lines that are no messages, or too much of one. */
async function lines(t, material, log, judge, stop) {
  const { tally } = t;
  for (const revision of REVISIONS) {
    const server = await Stdio.open(material, log, { revision });
    const deep = (open, close) => open.repeat(10_000) + close.repeat(10_000);
    const request = (more) => JSON.stringify({ jsonrpc: "2.0", id: "big", method: "tools/call", params: { name: "plan_issue", arguments: { title: more }, ...(revision === MODERN && { _meta: meta() }) } });
    const cases = [
      ["half an object", PARSE_ERROR, "{"],
      ["no JSON", PARSE_ERROR, "Content-Length: 12"],
      ["two objects", PARSE_ERROR, '{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}'],
      ["a trailing comma", PARSE_ERROR, '{"jsonrpc":"2.0","id":1,}'],
      ["bytes that are no text", PARSE_ERROR, Buffer.from([0x22, 0xff, 0xfe, 0x22])],
      ["lists in lists", PARSE_ERROR, deep("[", "]")],
      ["objects in objects", PARSE_ERROR, `{"a":${deep('{"a":', "}").replace(":}", ":1}")}}`],
      ["a number beyond all numbers", PARSE_ERROR, '{"jsonrpc":"2.0","id":1e999,"method":"ping"}'],
      ["half a character", PARSE_ERROR, '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\\ud800"}}'],
      ["an empty batch", INVALID_REQUEST, "[]"],
      ["a batch", INVALID_REQUEST, `[${request("x")},${request("y")}]`],
      ["a list of nothing", INVALID_REQUEST, "[1,null]"],
      ["a number", INVALID_REQUEST, "7"],
      ["null", INVALID_REQUEST, "null"],
      ["a text", INVALID_REQUEST, '"tools/list"'],
      ["an empty object", INVALID_REQUEST, "{}"],
      ["no version", INVALID_REQUEST, '{"id":null,"method":"ping"}'],
      ["an id that is null", INVALID_REQUEST, '{"jsonrpc":"2.0","id":null,"method":"tools/list"}'],
      ["an id that is a fraction", INVALID_REQUEST, '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}'],
      ["an id that is a list", INVALID_REQUEST, '{"jsonrpc":"2.0","id":[1],"method":"tools/list"}'],
      ["a method that is a number", INVALID_REQUEST, '{"jsonrpc":"2.0","id":{},"method":1}'],
      ["ten megabytes", INVALID_REQUEST, request("x".repeat(10 << 20))],
    ];
    for (const [what, code, text] of cases) {
      const { message } = await answerTo(server, text);
      tally.that(message.error?.code === code, `stdio ${revision}: ${what}: ${JSON.stringify(message).slice(0, 200)}`);
      tally.judged(judge.answer(revision, "tools/list", message).map((problem) => `stdio ${revision}: ${what}: ${problem}`));
      await alive(t, server, judge, what);
    }
    // With an id that can be told, it is told.
    for (const [what, text] of [["another version", '{"jsonrpc":"1.0","id":"n","method":"tools/list"}'], ["parameters that are a list", '{"jsonrpc":"2.0","id":"n","method":"tools/list","params":[]}']]) {
      const { message } = await server.send(JSON.parse(text));
      tally.that(message.error !== undefined, `stdio ${revision}: ${what}: ${JSON.stringify(message).slice(0, 200)}`);
    }
    // Nobody answers these.
    const before = server.messages.length;
    for (const text of [
      "", "   ", "\r", '{"jsonrpc":"2.0","method":"notifications/nothing"}', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled"}', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"scan"}}',
    ]) server.raw(text);
    await alive(t, server, judge, "notices that nobody answers");
    tally.that(server.messages.length === before + 1, `stdio ${revision}: a notice was answered: ${JSON.stringify(server.messages.slice(before, -1)).slice(0, 300)}`);
    // A line ended as on other systems, and one in pieces.
    const whole = JSON.stringify({ jsonrpc: "2.0", id: "crlf", method: "tools/list", params: revision === MODERN ? { _meta: meta() } : {} });
    const answered = new Promise((resolve) => server.waiting.set("crlf", resolve));
    server.child.stdin.write(whole.slice(0, 20));
    await wait(50);
    server.child.stdin.write(`${whole.slice(20)}\r\n`);
    tally.that((await answered).result?.tools?.length > 0, `stdio ${revision}: a line in pieces is not understood`);
    await stop(server, " after lines that are no messages");
  }
}

function answerTo(server, text) {
  if (typeof text === "string") return server.answerTo(text);
  const bytes = Buffer.from(text);
  const raw = server.raw.bind(server);
  server.raw = () => server.child.stdin.write(Buffer.concat([bytes, Buffer.from("\n")]));
  return server.answerTo("bytes").finally(() => (server.raw = raw));
}

/** Calls that nobody wants any more: none is answered, and their place is free. */
async function cancelled(t, material, log, judge, stop) {
  const { tally } = t;
  for (const revision of REVISIONS) {
    const server = await Stdio.open(material, log, { revision });
    const call = (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "review_repository", arguments: {}, ...(revision === MODERN && { _meta: meta() }) } });
    // More than work at once, so that the last ones wait.
    const ids = Array.from({ length: 40 }, (_, at) => `c${at}`);
    const lines = [...ids.map((id) => JSON.stringify(call(id))), ...ids.map((id) => JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: "changed my mind" } }))];
    server.raw(lines.join("\n"));
    await alive(t, server, judge, "cancelled calls");
    await wait(500);
    const answered = server.messages.filter((one) => ids.includes(one.id));
    tally.that(answered.length < ids.length / 2, `stdio ${revision}: ${answered.length} of ${ids.length} cancelled calls were answered all the same`);
    await stop(server, " after cancelled calls");
  }
}

/** Clients that go away. */
async function endings(t, material, log) {
  const { tally } = t;
  const begun = () => {
    const child = started(["mcp", "--root", material.root, "--state", material.state], { env: { ...process.env, OCTOSWARM_LOG: "trace" } });
    child.stderr.pipe(createWriteStream(log, { flags: "a" }));
    child.stdin.on("error", () => {});
    return child;
  };
  const line = (id) => `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "scan", arguments: {}, _meta: meta() } })}\n`;
  const ended = (child) => Promise.race([once(child, "close").then(([code, signal]) => code ?? signal), wait(20_000).then(() => (child.kill("SIGKILL"), "late"))]);

  // The input ends while calls are under way, the last of them without an end of its line: they are answered first.
  const patient = begun();
  let said = "";
  patient.stdout.on("data", (data) => (said += data));
  patient.stdin.end(Array.from({ length: 8 }, (_, at) => line(at)).join("").trimEnd());
  tally.that((await ended(patient)) === 0, "stdio: the end of the input did not end it well");
  const ids = said.trim().split("\n").map((text) => JSON.parse(text)).filter((one) => one.result).map((one) => one.id);
  tally.that(ids.length === 8 && new Set(ids).size === 8, `stdio: the input ended, and of 8 calls ${ids.length} were answered`);

  const empty = begun();
  empty.stdin.end();
  empty.stdout.resume();
  tally.that((await ended(empty)) === 0, "stdio: an empty input did not end it well");

  // Nobody reads any more.
  const unread = begun();
  unread.stdout.destroy();
  unread.stdin.write(Array.from({ length: 50 }, (_, at) => line(at)).join(""));
  const code = await ended(unread);
  tally.that(code === 0, `stdio: without a reader it ended with ${code}`);

  const half = begun();
  half.stdout.resume();
  half.stdin.end('{"jsonrpc":"2.0","id":1,"meth');
  tally.that((await ended(half)) === 0, "stdio: half a line did not end it well");
  const told = readFileSync(log, "utf8");
  tally.that(/TRACE/.test(told), "stdio: the logs were not as long as they can be, so that standard output was not tried");
  tally.that(!/panicked/.test(told), "stdio: something panicked");
}
