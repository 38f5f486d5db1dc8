// What the checks of the MCP server share: a repository to look at, the server over both transports, the protocol's schemas.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { join } from "node:path";
import Ajv from "ajv/dist/2020.js";
import { freePort } from "./proxy.js";
import { OCTOSWARM } from "./places.js";
import { python } from "./python.js";

export const REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"];
/** From this one on a request brings its revision along, and there is no handshake. */
export const MODERN = "2026-07-28";
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const HEADER_MISMATCH = -32020;
export const UNSUPPORTED_VERSION = -32022;

const INFO = { name: "octoswarm-conformance", version: "1" };
const OURS = "io.modelcontextprotocol/";
/** No answer takes so long but for a machine that does much else. */
const PATIENCE = 60_000;

/** What a request of the newest revision says of its sender. */
export const meta = (revision = MODERN) => ({
  [`${OURS}protocolVersion`]: revision,
  [`${OURS}clientInfo`]: INFO,
  [`${OURS}clientCapabilities`]: {},
});

// ---- Material ----

/** A repository with a grave finding, one that has a fix, a committed and an uncommitted change; beside it what nobody may read. */
export function repository(folder) {
  const home = join(folder, "mcp");
  const root = join(home, "repository");
  mkdirSync(join(root, "src"), { recursive: true });
  const git = (...args) => execFileSync("git", ["-C", root, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...args], { stdio: "pipe" });
  const write = (path, text) => writeFileSync(join(root, path), text);
  git("init", "--quiet", "--initial-branch=main");
  write("README.md", "# Shop\n\nSums up baskets.\n");
  write("src/basket.py", "def total(prices):\n    return sum(prices)\n");
  git("add", ".");
  git("commit", "--quiet", "--message=Basket");
  git("switch", "--quiet", "--create=discount");
  write("src/discount.py", "def discount(text):\n    return eval(text)\n");
  write("src/check.py", "def known(code):\n    if code == None:\n        return False\n    return True\n");
  git("add", ".");
  git("commit", "--quiet", "--message=Discounts");
  write("src/basket.py", "def total(prices):\n    return sum(eval(prices))\n");
  writeFileSync(join(home, "secret.txt"), SECRET);
  symlinkSync("..", join(root, "link"));
  return { root: realpathSync(root), secret: join(realpathSync(home), "secret.txt"), state: join(home, "state") };
}

/** Stands outside of every root, so that no answer may hold it. */
export const SECRET = "what-nobody-may-read";

// ---- The protocol's schemas ----

/** Judges what a server says. `Promise<Protocol>`, made once a run. */
export const protocol = (t) => t.once("mcp-protocol", () => Protocol.read(t.once("python", python)));

export class Protocol {
  static async read(interpreter) {
    const out = await interpreter.run("mcp_schemas.py", []);
    if (out.status !== 0) throw new Error(`the protocol's schemas cannot be had from the package mcp-types:\n${out.stderr.slice(-2000)}`);
    return new Protocol(JSON.parse(out.stdout));
  }

  constructor(schemas) {
    this.schemas = schemas;
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    this.compiled = new Map();
  }

  judge(revision, kind, schema, value) {
    if (schema === undefined) return [`${revision} knows no ${kind}`];
    const key = `${revision} ${kind}`;
    if (!this.compiled.has(key)) this.compiled.set(key, this.ajv.compile(schema));
    const validate = this.compiled.get(key);
    return validate(value) ? [] : validate.errors.slice(0, 5).map((e) => `${kind}${e.instancePath} ${e.message} (${revision})`);
  }

  /** A message that answers a request of that method. */
  answer(revision, method, message) {
    const schemas = this.schemas[revision];
    if (message?.error !== undefined) return this.judge(revision, "error", schemas.error, message);
    const envelope = this.judge(revision, "response", schemas.response, message);
    return envelope.length > 0 ? envelope : this.judge(revision, method, schemas.results[method], message.result);
  }

  /** A message that answers nothing. */
  notification(revision, message) {
    return this.judge(revision, message.method, this.schemas[revision].notifications[message.method], message);
  }
}

/** What a tool answers against its own schema. */
export class Tools {
  constructor(listed) {
    this.listed = listed;
    this.ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true, validateFormats: false });
    // Compiling judges the schemas themselves by that of their draft.
    this.inputs = new Map(listed.map((tool) => [tool.name, this.ajv.compile(tool.inputSchema)]));
    this.outputs = new Map(listed.filter((tool) => tool.outputSchema).map((tool) => [tool.name, this.ajv.compile(tool.outputSchema)]));
  }

  /** The problems of a result: a failure has none of its own but an empty text. */
  judge(name, result) {
    const text = (result?.content ?? []).map((part) => part.text ?? "").join("");
    if (text.trim() === "") return [`${name} answers no text`];
    if (result.isError) return result.structuredContent === undefined ? [] : [`${name} failed and answers structured content all the same`];
    const validate = this.outputs.get(name);
    if (validate === undefined) return [];
    if (result.structuredContent === undefined) return [`${name} has an output schema and answers no structured content`];
    return validate(result.structuredContent) ? [] : validate.errors.map((e) => `${name}'s structured content${e.instancePath} ${e.message}`);
  }
}

// ---- Standard input and output ----

const children = new Set();

/** Nothing that was started stays, whatever happened. */
export function endAll() {
  for (const child of children) child.kill("SIGKILL");
}

/** A program of ours that does not outlive the check. */
export function started(args, options) {
  const child = spawn(OCTOSWARM, args, options);
  children.add(child);
  child.on("close", () => children.delete(child));
  return child;
}

/**
 * `octoswarm mcp`, spoken to line by line. With one revision it logs as much as it can, to see that none of it gets among the messages; that
 * takes its time.
 */
export class Stdio {
  constructor(material, log, { revision = MODERN, options = [] } = {}) {
    this.transport = "stdio";
    this.revision = revision;
    this.noise = [];
    this.messages = [];
    this.waiting = new Map();
    this.others = [];
    this.last = 0;
    const args = ["mcp", "--root", material.root, "--state", material.state, ...options];
    this.child = started(args, { cwd: material.root, env: { ...process.env, OCTOSWARM_LOG: revision === "2025-11-25" ? "trace" : "debug", RUST_BACKTRACE: "0" } });
    this.child.stderr.pipe(createWriteStream(log, { flags: "a" }));
    // It may end while we are still talking.
    this.child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => this.child.on("close", (code, signal) => resolve(code ?? signal)));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.heard(line));
  }

  /** With the handshake that the revision has. */
  static async open(material, log, given = {}) {
    const server = new Stdio(material, log, given);
    if (server.revision !== MODERN) await handshake(server);
    return server;
  }

  heard(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.noise.push(line);
      return;
    }
    if (message?.jsonrpc !== "2.0") this.noise.push(line);
    this.messages.push(message);
    const waiting = this.waiting.get(message.id);
    if (waiting && message.method === undefined) {
      this.waiting.delete(message.id);
      waiting(message);
    } else if (message.method === undefined) {
      this.others.push(message);
      this.arrived?.();
    }
  }

  raw(text) {
    this.child.stdin.write(`${text}\n`);
  }

  /** The answer to what has no id that could be told: the next one that answers nothing we asked. */
  async answerTo(text) {
    const before = this.others.length;
    const come = new Promise((resolve) => (this.arrived = resolve));
    this.raw(text);
    if (this.others.length === before) await orLate(come, `no answer to ${text.slice(0, 80)}`);
    return { message: this.others[before] };
  }

  send(message) {
    const answer = new Promise((resolve) => this.waiting.set(message.id, resolve));
    this.raw(JSON.stringify(message));
    return orLate(answer, `no answer to ${message.method}`).then((message) => ({ message }));
  }

  /** `{ message }` that answers. */
  request(method, params = {}, id = (this.last += 1)) {
    return this.send({ jsonrpc: "2.0", id, method, params: this.revision === MODERN ? { ...params, _meta: { ...meta(), ...params._meta } } : params });
  }

  notify(method, params) {
    this.raw(JSON.stringify({ jsonrpc: "2.0", method, ...(params && { params }) }));
  }

  /** Ends it as the protocol says; answers its exit code. */
  async stop() {
    this.child.stdin.end();
    const code = await Promise.race([this.ended, wait(15_000).then(() => "late")]);
    if (code === "late") this.child.kill("SIGKILL");
    return code;
  }
}

// ---- HTTP ----

export const TOKEN = "0123456789abcdef0123456789abcdef-conformance";

/** `octoswarm serve --api-only`, and a relay in front of it for clients that know no token. */
export async function serve(material, folder) {
  mkdirSync(folder, { recursive: true });
  const front = await freePort();
  const child = started(["serve", "--api-only", "--listen", "127.0.0.1:0", "--state", join(folder, "state")], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      OCTOSWARM_API_TOKEN: TOKEN,
      OCTOSWARM_API_ROOTS: material.root,
      OCTOSWARM_LOG: "debug",
      // Whoever comes by the relay names the relay, and some say that they are a page of it.
      OCTOSWARM_API_ALLOWED_HOSTS: `127.0.0.1,localhost`,
      OCTOSWARM_API_ALLOWED_ORIGINS: `http://127.0.0.1:${front}`,
      RUST_BACKTRACE: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = join(folder, "server.log");
  child.stderr.pipe(createWriteStream(log));
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, "line").then(([line]) => line), once(child, "close").then(() => null)]);
  const found = /^listening on (http:\/\/\S+)/.exec(line ?? "");
  if (!found) throw new Error(`the server did not start, or said something else than where it listens: ${line ?? readFileSync(log, "utf8")}`);
  const url = new URL("/mcp", found[1]);
  const relay = await relayTo(url, front);
  return {
    url,
    origin: `http://127.0.0.1:${front}`,
    relay: `http://127.0.0.1:${front}/mcp`,
    pid: child.pid,
    log: () => readFileSync(log, "utf8"),
    alive: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      relay.closeAllConnections();
      relay.close();
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await Promise.race([ended, wait(15_000).then(() => child.kill("SIGKILL"))]);
      }
    },
  };
}

/** Adds the token, and changes nothing else: the names in `Host` and `Origin` are the client's. */
async function relayTo(url, port) {
  const server = createServer((message, answer) => {
    const headers = { ...message.headers, authorization: `Bearer ${TOKEN}` };
    const onward = request({ host: url.hostname, port: url.port, path: message.url, method: message.method, headers, setHost: false }, (reply) => {
      answer.writeHead(reply.statusCode, reply.rawHeaders);
      reply.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    message.pipe(onward);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** One client of the server over HTTP. */
export class Http {
  constructor(server, { revision = MODERN } = {}) {
    this.transport = "HTTP";
    this.server = server;
    this.revision = revision;
    this.session = undefined;
    this.last = 0;
    this.agent = new Agent({ keepAlive: true, maxSockets: 128 });
  }

  static async open(server, given = {}) {
    const client = new Http(server, given);
    if (client.revision !== MODERN) await handshake(client);
    return client;
  }

  /** The headers that go with a message. */
  headers(message) {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(message?.method !== "initialize" && { "mcp-protocol-version": this.revision }),
      ...(this.session && { "mcp-session-id": this.session }),
    };
    if (this.revision !== MODERN) return headers;
    const name = message?.params?.name ?? message?.params?.uri;
    return { ...headers, "mcp-method": headerValue(message?.method ?? ""), ...(typeof name === "string" && { "mcp-name": headerValue(name) }) };
  }

  /** Sends bytes with exactly these headers; answers `{ status, headers, text, message, messages }`. */
  exchange(method, headers, body, { signal } = {}) {
    return new Promise((resolve, reject) => {
      const { url } = this.server;
      const given = Object.fromEntries(Object.entries({ host: url.host, ...headers }).filter(([, value]) => value !== undefined));
      if (body !== undefined) given["content-length"] = Buffer.byteLength(body);
      const sent = request({ agent: this.agent, host: url.hostname, port: url.port, path: url.pathname, method, headers: given, setHost: false, signal }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (data) => (text += data));
        answer.on("error", reject);
        answer.on("end", () => {
          const messages = messagesOf(answer.headers["content-type"] ?? "", text);
          resolve({ status: answer.statusCode, headers: answer.headers, text, messages, message: messages.findLast((one) => one.method === undefined) });
        });
      });
      sent.setTimeout(PATIENCE, () => sent.destroy(new Error(`no answer to ${method}`)));
      sent.on("error", (error) => {
        // An idle connection was closed just when it was taken up again.
        if (sent.reusedSocket && error.code === "ECONNRESET") resolve(this.exchange(method, headers, body, { signal }));
        // What is refused before its body was read may be cut off while the body is on its way.
        else if (["EPIPE", "ECONNRESET"].includes(error.code)) resolve({ status: 0, headers: {}, text: error.code, messages: [] });
        else reject(error);
      });
      sent.end(body);
    });
  }

  post(message, headers = {}, given) {
    return this.exchange("POST", { ...this.headers(message), ...headers }, JSON.stringify(message), given);
  }

  send(message) {
    return this.post(message);
  }

  request(method, params = {}, id = (this.last += 1)) {
    return this.send({ jsonrpc: "2.0", id, method, params: this.revision === MODERN ? { ...params, _meta: { ...meta(), ...params._meta } } : params });
  }

  notify(method, params) {
    return this.post({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  async stop() {
    if (this.session) await this.exchange("DELETE", this.headers());
    this.agent.destroy();
    return 0;
  }
}

/** A value as headers may hold it. */
const headerValue = (text) =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;

function messagesOf(type, text) {
  const parsed = (part) => {
    try {
      return [JSON.parse(part)];
    } catch {
      return [];
    }
  };
  if (!type.startsWith("text/event-stream")) return parsed(text);
  return text.split(/\r?\n\r?\n/).flatMap((event) => parsed(event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n")));
}

async function handshake(client) {
  const answer = await client.request("initialize", { protocolVersion: client.revision, capabilities: {}, clientInfo: INFO });
  client.introduced = answer.message;
  client.session = answer.headers?.["mcp-session-id"];
  if (answer.message?.result?.protocolVersion !== client.revision) throw new Error(`asked for ${client.revision}, it said ${JSON.stringify(answer.message ?? answer.text)}`);
  await client.notify("notifications/initialized");
}

async function orLate(promise, what) {
  const late = new AbortController();
  try {
    return await Promise.race([promise, wait(PATIENCE, undefined, { signal: late.signal }).then(() => Promise.reject(new Error(`${what} within ${PATIENCE / 1000} s`)))]);
  } finally {
    late.abort();
  }
}
