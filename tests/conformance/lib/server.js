// The real server with a key, a secret and a state folder made for the occasion, and a GitHub that knows next to nothing.

import { createPublicKey, generateKeyPairSync, randomUUID, verify } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { spawn } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { join } from "node:path";
import { OCTOSWARM } from "./places.js";

const APP_ID = 4242;

/** Starts both; `stop` ends both. */
export async function start(folder, name) {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const secret = `conformance-${randomUUID()}`;
  writeFileSync(join(home, "app.pem"), keys.privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  writeFileSync(join(home, "secret"), secret, { mode: 0o600 });
  const github = await bareGithub(createPublicKey(keys.privateKey));
  const child = spawn(OCTOSWARM, ["serve"], {
    cwd: home,
    env: {
      OCTOSWARM_APP_ID: String(APP_ID),
      OCTOSWARM_PRIVATE_KEY_FILE: join(home, "app.pem"),
      OCTOSWARM_WEBHOOK_SECRET_FILE: join(home, "secret"),
      OCTOSWARM_API_URL: github.url,
      OCTOSWARM_WEB_URL: github.url,
      OCTOSWARM_STATE: join(home, "state"),
      OCTOSWARM_LISTEN: "127.0.0.1:0",
      OCTOSWARM_WRITE_PACE_MS: "0",
      OCTOSWARM_SETTLE_MS: "100",
      // There is no delivery log to catch up with.
      OCTOSWARM_RECONCILE_SECONDS: "0",
      RUST_BACKTRACE: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = join(home, "server.log");
  child.stderr.pipe(createWriteStream(log));
  let exited = null;
  child.on("exit", (code, signal) => (exited = code ?? signal));
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`the server did not start: ${readFileSync(log, "utf8")}`))),
  ]);
  const url = new URL(line.replace("listening on ", ""));
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  return {
    secret,
    github,
    log: () => readFileSync(log, "utf8"),
    alive: () => exited === null,
    post: (headers, body) => send(agent, url, "POST", "/webhook", headers, body),
    get: (path) => send(agent, url, "GET", path, {}, ""),
    /** Bytes that the process holds, as Linux counts them; `null` elsewhere. */
    memory: () => {
      try {
        return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))[1]) * 1024;
      } catch {
        return null;
      }
    },
    rows: (sql) => {
      const db = new DatabaseSync(join(home, "state/octoswarm.db"), { readOnly: true });
      try {
        return db.prepare(sql).all();
      } finally {
        db.close();
      }
    },
    stop: async () => {
      agent.destroy();
      if (exited === null) {
        child.kill("SIGTERM");
        await Promise.race([once(child, "exit"), wait(15_000).then(() => child.kill("SIGKILL"))]);
      }
      github.stop();
    },
  };
}

function send(agent, url, method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, host: url.hostname, port: url.port, method, path, headers: { ...headers, "content-length": Buffer.byteLength(body) } },
      (answer) => {
        let text = "";
        answer.on("data", (data) => (text += data));
        answer.on("end", () => resolve({ status: answer.statusCode, text }));
      },
    );
    // What is refused before its body was read may be cut off while the body is on its way.
    sent.on("error", (error) => {
      if (!["EPIPE", "ECONNRESET"].includes(error.code)) reject(error);
      // An idle connection was closed just when it was taken up again.
      else if (sent.reusedSocket) resolve(send(new Agent(), url, method, path, headers, body));
      else resolve({ status: 0, text: error.code });
    });
    sent.end(body);
  });
}

/** The headers of a delivery; whoever sends it signs it. */
export const headers = (event, signature, guid = randomUUID()) => ({
  "content-type": "application/json",
  "user-agent": "GitHub-Hookshot/conform",
  "x-github-delivery": guid,
  "x-github-event": event,
  "x-hub-signature-256": signature,
});

/** Knows the App, mints tokens, and has nothing else: no configuration file (404), no permission for the rest (403). */
async function bareGithub(publicKey) {
  const calls = [];
  const problems = [];
  const server = createServer((message, answer) => {
    let text = "";
    message.on("data", (data) => (text += data));
    message.on("end", () => {
      const url = new URL(message.url, "http://localhost");
      const [status, body] = reply(message.method, url.pathname);
      calls.push({
        method: message.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        body: text === "" ? null : JSON.parse(text),
        status,
      });
      const bearer = /^(?:Bearer|token) (.+)$/i.exec(message.headers.authorization ?? "")?.[1] ?? "";
      if (/^\/app($|\/)/.test(url.pathname)) problems.push(...jwtProblems(bearer, publicKey));
      answer.writeHead(status, { "content-type": "application/json; charset=utf-8" });
      answer.end(JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    calls,
    problems,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function reply(method, path) {
  if (path === "/app") {
    const owner = { login: "octo", id: 1, type: "Organization" };
    return [200, { id: APP_ID, slug: "octoswarm", name: "octoswarm", node_id: "A_1", owner, permissions: {}, events: [] }];
  }
  if (method === "POST" && /^\/app\/installations\/\d+\/access_tokens$/.test(path)) {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z/, "Z");
    return [201, { token: `ghs_${randomUUID().replaceAll("-", "")}`, expires_at, permissions: {}, repository_selection: "selected" }];
  }
  if (path.includes("/contents/")) return [404, { message: "Not Found" }];
  return [403, { message: "Resource not accessible by integration" }];
}

/** The App's token as Node's own cryptography reads it. */
export function jwtProblems(token, publicKey, now = Date.now() / 1000) {
  const [head, claims, signature] = token.split(".");
  if (!signature) return ["the App's calls carry no JWT"];
  const decoded = (part) => JSON.parse(Buffer.from(part, "base64url").toString());
  const { alg } = decoded(head);
  const { iss, iat, exp } = decoded(claims);
  const problems = [];
  if (alg !== "RS256") problems.push(`the JWT says ${alg}`);
  if (!verify("RSA-SHA256", Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, "base64url"))) {
    problems.push("the JWT's signature does not match the App's key");
  }
  if (String(iss) !== String(APP_ID)) problems.push(`the JWT was issued by ${iss}`);
  if (!(iat <= now && exp > now && exp - now <= 600)) problems.push(`the JWT is good from ${iat} to ${exp}, and it is ${now}`);
  return problems;
}
