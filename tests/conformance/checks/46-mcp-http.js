// The MCP server over HTTP: its guard, its transport, clients of others, and the protocol's own conformance suite.

import { spawn } from "node:child_process";
import { createConnection } from "node:net";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { alive, conversation, hostile, parallel, wrong } from "../lib/mcp-cases.js";
import { inspected, inspector, pythonClients } from "../lib/mcp-clients.js";
import { HEADER_MISMATCH, Http, INVALID_PARAMS, METHOD_NOT_FOUND, MODERN, REVISIONS, TOKEN, UNSUPPORTED_VERSION, endAll, meta, protocol, repository, serve } from "../lib/mcp.js";
import { HERE } from "../lib/places.js";

export const title = "the MCP server over HTTP, against the protocol's schemas, its conformance suite and clients of others";

/**
 * Every scenario of the suite: that it passes, or what the suite says of what this server does not have. What passes all the same, fails for
 * another reason or is not named here, is a mistake.
 */
const PASSES = null;
// It asks for a tool, resource or prompt that the suite's own example server has.
const FIXTURE = /there is no (tool|resource|prompt) `test|Tool '\w+' not found/i;
const NO_LOGGING = /-32601: .*logging\/setLevel/;
const NO_SUBSCRIPTIONS = /-32601: .*resources\/subscribe/;
const SCENARIOS = {
  "server-initialize": PASSES,
  ping: PASSES,
  "completion-complete": PASSES,
  "tools-list": PASSES,
  "resources-list": PASSES,
  "prompts-list": PASSES,
  "server-sse-multiple-streams": PASSES,
  "server-sse-polling": PASSES,
  "dns-rebinding-protection": PASSES,
  "logging-set-level": NO_LOGGING,
  "resources-subscribe": NO_SUBSCRIPTIONS,
  "resources-unsubscribe": NO_SUBSCRIPTIONS,
  "tools-call-simple-text": FIXTURE,
  "tools-call-image": FIXTURE,
  "tools-call-audio": FIXTURE,
  "tools-call-embedded-resource": FIXTURE,
  "tools-call-mixed-content": FIXTURE,
  "tools-call-with-logging": NO_LOGGING,
  "tools-call-error": FIXTURE,
  "tools-call-with-progress": FIXTURE,
  "tools-call-sampling": FIXTURE,
  "tools-call-elicitation": FIXTURE,
  "json-schema-2020-12": FIXTURE,
  "elicitation-sep1034-defaults": FIXTURE,
  "elicitation-sep1330-enums": FIXTURE,
  "resources-read-text": FIXTURE,
  "resources-read-binary": FIXTURE,
  "resources-templates-read": FIXTURE,
  "prompts-get-simple": FIXTURE,
  "prompts-get-with-args": FIXTURE,
  "prompts-get-embedded-resource": FIXTURE,
  "prompts-get-with-image": FIXTURE,
};

export default async function check(t) {
  const { tally } = t;
  t.atEnd(endAll);
  const material = t.once("mcp-material", () => repository(t.folder));
  const judge = await protocol(t);
  const server = await serve(material, join(t.folder, "mcp-http"));
  t.atEnd(() => server.stop());

  let listed;
  let strings = 0;
  for (const revision of REVISIONS) {
    const client = await Http.open(server, { revision });
    listed = await conversation(t, client, judge);
    await wrong(t, client, judge, listed);
    if (t.full || revision === "2025-11-25") strings += await hostile(t, client, judge, listed, material, t.full);
    await parallel(t, client, judge);
    await alive(t, client, judge, "a hundred calls at once");
    await client.stop();
  }
  tally.note(`${listed.tools.length} tools; ${strings} calls with hostile strings`);

  await guarded(t, server);
  await shaped(t, server, judge);
  await headers(t, server, judge);
  await sessions(t, server, judge);
  await dropped(t, server, judge);

  await Promise.all([
    inspected(t, inspector([server.relay]), listed, "HTTP"),
    pythonClients(t, { url: server.url.href, token: TOKEN }, listed, "HTTP"),
    suite(t, server),
  ]);
  tally.note("spoken raw: 2025-06-18, 2025-11-25, 2026-07-28; by the Inspector: 2025-06-18; by the suite: 2025-11-25; by mcp and fastmcp: 2025-11-25, 2026-07-28");

  tally.that(server.alive(), "the server ended");
  tally.that(!/panicked/.test(server.log()), "the server panicked: see its log");
  tally.that(!server.log().includes(TOKEN), "the token stands in the log");
}

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta() } };

/** Who may come in: asked before a body is read, and of every method. */
async function guarded({ tally }, server) {
  const client = new Http(server);
  const body = JSON.stringify(LIST);
  const port = server.url.port;
  const attempt = async (what, wanted, headers, method = "POST") => {
    const answer = await client.exchange(method, { ...client.headers(LIST), ...headers }, method === "POST" ? body : undefined);
    tally.that(wanted.includes(answer.status), `HTTP: ${method} with ${what}: ${answer.status}, not ${wanted.join(" or ")}: ${answer.text.slice(0, 200)}`);
    if (answer.status >= 400) tally.that(!answer.text.includes("review_diff"), `HTTP: ${what}: the answer holds tools all the same`);
    return answer;
  };
  await attempt("everything as it should be", [200], {});
  for (const method of ["POST", "GET", "DELETE", "PUT"]) {
    const refused = await attempt("no token", [401], { authorization: undefined }, method);
    tally.that(/^Bearer/.test(refused.headers["www-authenticate"] ?? ""), `HTTP: ${method} without a token is not told which one is wanted`);
  }
  for (const authorization of ["", "Bearer", "Bearer ", `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Bearer ${TOKEN.toUpperCase()}`, `Basic ${Buffer.from(`x:${TOKEN}`).toString("base64")}`, TOKEN, `Bearer ${TOKEN}, Bearer x`]) {
    await attempt(`the authorization ${JSON.stringify(authorization.replace(TOKEN, "T"))}`, [401], { authorization });
  }
  // The scheme's name has no case.
  await attempt("the scheme in small letters", [200], { authorization: `bearer ${TOKEN}` });
  for (const host of ["evil.example.com", `evil.example.com:${port}`, `127.0.0.1.evil.example.com:${port}`, `localhost.evil.example.com`, `127.0.0.1:${port}@evil.example.com`, "0.0.0.0", "", `evil.example.com, 127.0.0.1:${port}`]) {
    for (const method of ["POST", "GET"]) await attempt(`the host ${JSON.stringify(host)}`, [400, 403], { host }, method);
  }
  await attempt("the host localhost", [200], { host: `localhost:${port}` });
  for (const origin of ["http://evil.example.com", "null", "", "file://", `http://127.0.0.1.evil.example.com`, `https://127.0.0.1:${port}`, `${server.origin}.evil.example.com`, `http://evil@127.0.0.1:${port}`, `${server.origin}, http://evil.example.com`]) {
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const answer = await attempt(`the origin ${JSON.stringify(origin)}`, [400, 403], { origin }, method);
      tally.that(answer.headers["access-control-allow-origin"] === undefined, `HTTP: the origin ${origin} is told that it may`);
    }
  }
  await attempt("an origin that is allowed", [200], { origin: server.origin });
  // A page of an allowed origin may send what the newest revision wants of it.
  const wanted = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name";
  const preflight = await client.exchange("OPTIONS", { origin: server.origin, "access-control-request-method": "POST", "access-control-request-headers": wanted });
  const allowed = (preflight.headers["access-control-allow-headers"] ?? "").toLowerCase().split(/,\s*/);
  const missing = preflight.status >= 300 || allowed.includes("*") ? [] : wanted.split(", ").filter((name) => !allowed.includes(name));
  tally.that(preflight.status < 300 && missing.length === 0, `HTTP: a page of an allowed origin may not send ${missing} (${preflight.status})`);
  // Two of what there is one of.
  for (const twice of [["Host", `127.0.0.1:${port}`, "Host", "evil.example.com"], ["Host", `127.0.0.1:${port}`, "Origin", server.origin, "Origin", "http://evil.example.com"]]) {
    const status = await rawStatus(port, [...twice, "Authorization", `Bearer ${TOKEN}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream"], body);
    tally.that(status >= 400 && status < 500, `HTTP: ${twice.join(" ")}: ${status}`);
  }
  await client.stop();
}

/** The status of a request whose headers stand exactly as they are given. */
function rawStatus(port, headers, body) {
  return new Promise((resolve, reject) => {
    const pairs = [];
    for (let at = 0; at < headers.length; at += 2) pairs.push(`${headers[at]}: ${headers[at + 1]}\r\n`);
    const socket = createConnection(port, "127.0.0.1", () => {
      socket.write(`POST /mcp HTTP/1.1\r\n${pairs.join("")}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    });
    let text = "";
    socket.on("data", (data) => (text += data));
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
    socket.on("error", reject);
    socket.setTimeout(20_000, () => socket.destroy());
  });
}

/** Methods, media types, and bodies that are no messages. */
async function shaped(t, server, judge) {
  const { tally } = t;
  for (const revision of REVISIONS) {
    const client = await Http.open(server, { revision });
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", ...(revision === MODERN && { params: { _meta: meta() } }) };
    const attempt = async (what, wanted, method, headers, body) => {
      const answer = await client.exchange(method, { ...client.headers(list), ...headers }, body);
      tally.that(wanted.includes(answer.status), `HTTP ${revision}: ${what}: ${answer.status}, not ${wanted.join(" or ")}: ${answer.text.slice(0, 200)}`);
      if (answer.message) tally.judged(judge.answer(revision, "tools/list", answer.message).map((problem) => `HTTP ${revision}: ${what}: ${problem}`));
      return answer;
    };
    for (const method of ["PUT", "PATCH", "HEAD", "OPTIONS"]) await attempt(method, [405], method, { "content-type": undefined });
    if (revision === MODERN) for (const method of ["GET", "DELETE"]) await attempt(method, [405], method, { "content-type": undefined });
    const body = JSON.stringify(list);
    await attempt("another media type", [400, 415], "POST", { "content-type": "text/plain" }, body);
    await attempt("no media type", [400, 415], "POST", { "content-type": undefined }, body);
    await attempt("a media type with a character set", [200], "POST", { "content-type": "application/json; charset=utf-8" }, body);
    await attempt("an answer as HTML only", [400, 406], "POST", { accept: "text/html" }, body);
    const deep = (open, close) => open.repeat(10_000) + close.repeat(10_000);
    const cases = [
      ["nothing", ""], ["half an object", "{"], ["no JSON", "<xml/>"], ["bytes that are no text", Buffer.from([0x22, 0xff, 0x22])], ["half a character", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\\ud800"}}'],
      ["lists in lists", deep("[", "]")], ["objects in objects", `{"a":${deep('{"a":', "}").replace(":}", ":1}")}}`], ["an empty batch", "[]"], ["a batch", `[${body},${body}]`], ["null", "null"], ["a number", "7"], ["an empty object", "{}"],
      ["another version", body.replace("2.0", "1.0")], ["an id that is null", body.replace('"id":1', '"id":null')], ["an id that is a list", body.replace('"id":1', '"id":[]')], ["a method that is a number", body.replace('"tools/list"', "1")],
    ];
    for (const [what, text] of cases) {
      const answer = await attempt(what, [400, 415, 422], "POST", {}, text);
      tally.that(answer.text.trim() !== "", `HTTP ${revision}: ${what} is refused without a reason`);
    }
    const large = await attempt("ten megabytes", [413, 0], "POST", {}, JSON.stringify({ ...list, params: { ...list.params, cursor: "x".repeat(10 << 20) } }));
    tally.that(large.status === 413 || large.text !== "", `HTTP ${revision}: ten megabytes are refused without a reason`);
    // A length that is not true.
    tally.that([0, 400, 413].includes(await rawStatus(server.url.port, ["Host", server.url.host, "Authorization", `Bearer ${TOKEN}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Content-Length", "99999999999"], body)), `HTTP ${revision}: two lengths`);
    await alive(t, client, judge, "bodies that are no messages");
    await client.stop();
  }
}

/** What headers and body say of the same thing is the same. */
async function headers(t, server, judge) {
  const { tally } = t;
  const client = new Http(server);
  const call = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "explain_rule", arguments: { rule: "eval-of-data" }, _meta: meta() } };
  const attempt = async (what, code, more, message = call, status = 400) => {
    const answer = await client.post(message, more);
    const told = `HTTP ${MODERN}: ${what}: ${answer.status} ${answer.text.slice(0, 200)}`;
    tally.that(answer.status === status && (code === undefined ? answer.message?.result !== undefined : answer.message?.error?.code === code), told);
    if (answer.message) tally.judged(judge.answer(MODERN, message.method, answer.message).map((problem) => `HTTP ${MODERN}: ${what}: ${problem}`));
  };
  const without = (field) => ({ ...call, params: { ...call.params, _meta: Object.fromEntries(Object.entries(meta()).filter(([key]) => !key.endsWith(`/${field}`))) } });
  await attempt("headers that agree", undefined, {}, call, 200);
  await attempt("headers' names in capitals", undefined, { "mcp-method": undefined, "MCP-METHOD": "tools/call" }, call, 200);
  await attempt("a name that is encoded", undefined, { "mcp-name": `=?base64?${Buffer.from("explain_rule").toString("base64")}?=` }, call, 200);
  await attempt("another method", HEADER_MISMATCH, { "mcp-method": "tools/list" });
  await attempt("a method in capitals", HEADER_MISMATCH, { "mcp-method": "TOOLS/CALL" });
  await attempt("no method", HEADER_MISMATCH, { "mcp-method": undefined });
  await attempt("another name", HEADER_MISMATCH, { "mcp-name": "scan" });
  await attempt("another name, encoded", HEADER_MISMATCH, { "mcp-name": `=?base64?${Buffer.from("scan").toString("base64")}?=` });
  await attempt("a name that cannot be decoded", HEADER_MISMATCH, { "mcp-name": "=?base64?%%%?=" });
  await attempt("no name", HEADER_MISMATCH, { "mcp-name": undefined });
  await attempt("another revision", HEADER_MISMATCH, { "mcp-protocol-version": "2025-11-25" });
  await attempt("no revision in the headers", HEADER_MISMATCH, { "mcp-protocol-version": undefined });
  await attempt("no revision in the body", INVALID_PARAMS, {}, without("protocolVersion"));
  await attempt("no capabilities in the body", INVALID_PARAMS, {}, without("clientCapabilities"));
  await attempt("no name of the client", undefined, {}, without("clientInfo"), 200);
  const old = { ...call, params: { ...call.params, _meta: meta("1900-01-01") } };
  await attempt("a revision that nobody speaks", UNSUPPORTED_VERSION, { "mcp-protocol-version": "1900-01-01" }, old);
  const none = { ...call, method: "no/such/method" };
  await attempt("a method that is not there", METHOD_NOT_FOUND, { "mcp-method": "no/such/method" }, none, 404);
  const read = { jsonrpc: "2.0", id: 8, method: "resources/read", params: { uri: "octoswarm://rules", _meta: meta() } };
  await attempt("another resource", HEADER_MISMATCH, { "mcp-name": "octoswarm://schemas" }, read);
  // What older revisions had is passed over.
  await attempt("a session of the older revisions", undefined, { "mcp-session-id": "x", "last-event-id": "7" }, call, 200);
  const fresh = await client.post(call);
  tally.that(fresh.headers["mcp-session-id"] === undefined, `HTTP ${MODERN}: the server minted a session`);
  await client.stop();
}

/** The older revisions' sessions. */
async function sessions(t, server, judge) {
  const { tally } = t;
  for (const revision of REVISIONS.filter((revision) => revision !== MODERN)) {
    const client = await Http.open(server, { revision });
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const told = `HTTP ${revision}:`;
    const status = async (headers) => (await client.post(list, headers)).status;
    tally.that(/^[\x21-\x7e]{16,}$/.test(client.session ?? ""), `${told} a session that can be guessed: ${client.session}`);
    tally.that((await status({ "mcp-session-id": "no-such-session" })) === 404, `${told} a session that is not there: ${await status({ "mcp-session-id": "no-such-session" })}`);
    tally.that([400, 422].includes(await status({ "mcp-session-id": undefined })), `${told} no session: ${await status({ "mcp-session-id": undefined })}`);
    tally.that((await status({ "mcp-protocol-version": "1900-01-01" })) === 400, `${told} a revision that nobody speaks: ${await status({ "mcp-protocol-version": "1900-01-01" })}`);
    const notice = await client.notify("notifications/nothing");
    tally.that(notice.status === 202 && notice.text === "", `${told} a notice: ${notice.status} ${notice.text}`);
    const other = await Http.open(server, { revision });
    tally.that(other.session !== client.session, `${told} two clients share a session`);
    await client.exchange("DELETE", client.headers());
    tally.that((await status({})) === 404, `${told} a session that was ended goes on: ${await status({})}`);
    await alive(t, other, judge, "another client's end");
    await other.stop();
  }
}

/** Connections that end in the middle. */
async function dropped(t, server, judge) {
  const { tally } = t;
  for (const revision of REVISIONS) {
    const client = await Http.open(server, { revision });
    const call = (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "review_repository", arguments: {}, ...(revision === MODERN && { _meta: meta() }) } });
    // More than work at once, so that those which wait have to notice.
    const ends = new AbortController();
    const calls = Array.from({ length: 40 }, (_, at) => client.post(call(`d${at}`), {}, { signal: ends.signal }).then(() => "answered", () => "dropped"));
    await wait(100);
    ends.abort();
    const came = (await Promise.all(calls)).filter((one) => one === "answered").length;
    const began = performance.now();
    await alive(t, client, judge, "connections that were dropped");
    if (revision === MODERN) tally.note(`${40 - came} of 40 calls were dropped, and the next was answered after ${Math.round(performance.now() - began)} ms`);
    await client.stop();
  }
  // Cancelled as the older revisions cancel.
  const client = await Http.open(server, { revision: "2025-11-25" });
  const ids = Array.from({ length: 40 }, (_, at) => `n${at}`);
  const calls = ids.map((id) => client.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "review_repository", arguments: {} } }));
  const notices = await Promise.all(ids.map((id) => client.notify("notifications/cancelled", { requestId: id })));
  tally.that(notices.every((one) => one.status === 202), "HTTP 2025-11-25: cancelling is refused");
  await alive(t, client, judge, "cancelled calls");
  const settled = await Promise.race([Promise.allSettled(calls).then(() => true), wait(30_000).then(() => false)]);
  tally.that(settled, "HTTP 2025-11-25: connections of cancelled calls stay open");
  await client.stop();
  // Half a request, and then nothing.
  const sockets = Array.from({ length: 20 }, () => createConnection(server.url.port, "127.0.0.1"));
  for (const socket of sockets) {
    socket.on("error", () => {});
    socket.write(`POST /mcp HTTP/1.1\r\nHost: ${server.url.host}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"json`);
  }
  await wait(100);
  for (const socket of sockets) socket.destroy();
  const last = new Http(server);
  await alive(t, last, judge, "halves of requests");
  await last.stop();
}

/** The protocol's own suite, through a relay that knows the token. */
async function suite(t, server) {
  const { tally } = t;
  const program = join(HERE, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const folder = join(t.folder, "mcp-suite");
  const out = await new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "server", "--url", server.relay, "--suite", "all", "--output-dir", folder], { cwd: t.folder, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.stderr.on("data", (data) => (text += data));
    const late = setTimeout(() => child.kill("SIGKILL"), 180_000);
    child.on("error", reject);
    child.on("close", () => (clearTimeout(late), resolve(text)));
  });
  tally.that(existsSync(folder), `the suite did not run: ${out.slice(-1000)}`);
  // A folder each, named after scenario and time.
  const ran = new Map(
    readdirSync(folder).map((name) => {
      const checks = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8"));
      return [/^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)[1], checks.filter((one) => one.status === "FAILURE").map((one) => one.errorMessage ?? one.description)];
    }),
  );
  for (const name of new Set([...ran.keys(), ...Object.keys(SCENARIOS)])) {
    const [expected, failures] = [SCENARIOS[name], ran.get(name)];
    if (expected === undefined) tally.fail(`the suite has a scenario that nobody expects, ${name}: ${failures.join("; ") || "it passes"}`);
    else if (failures === undefined) tally.fail(`the suite did not run ${name}`);
    else if (expected === PASSES) tally.judged(failures.map((failure) => `the suite's ${name}: ${failure}`));
    else if (failures.length === 0) tally.fail(`the suite's ${name} passes, and was expected to fail with ${expected}`);
    else tally.judged(failures.filter((failure) => !expected.test(failure)).map((failure) => `the suite's ${name} fails for another reason: ${failure}`));
  }
  const passed = [...ran.values()].filter((failures) => failures.length === 0).length;
  tally.note(`the suite: ${passed} of ${ran.size} scenarios pass; the others need logging, subscriptions, or the tools of the suite's own server`);
}
