// A validating proxy that others wrote, between the server and the box.

import { spawn } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { once } from "node:events";
import { createServer as listen } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { join } from "node:path";
import { HERE } from "./places.js";

export async function freePort() {
  const server = listen().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** `prism proxy` with GitHub's description in front of `upstream`. */
export async function prism(folder, upstream) {
  const port = await freePort();
  const spec = join(HERE, "node_modules/@octokit/openapi/generated/api.github.com.json");
  const program = join(HERE, "node_modules/@stoplight/prism-cli/dist/index.js");
  const log = join(folder, "prism.log");
  const child = spawn(process.execPath, [program, "proxy", "-h", "127.0.0.1", "-p", String(port), spec, upstream], {
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", SCARF_ANALYTICS: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const out = createWriteStream(log);
  child.stdout.pipe(out, { end: false });
  child.stderr.pipe(out, { end: false });
  const read = () => readFileSync(log, "utf8").replaceAll(/\u001b\[[0-9;]*m/g, "");
  for (let waited = 0; !/is listening/.test(waited > 0 ? read() : ""); waited += 1) {
    if (child.exitCode !== null || waited > 600) throw new Error(`prism did not start:\n${read().slice(-2000)}`);
    await wait(200);
  }
  return { url: `http://127.0.0.1:${port}`, log: read, stop: () => child.kill("SIGTERM") };
}

/** Prism knows no places of several segments: their slashes are encoded on the way, which the box takes for the same. */
const oneSegment = (path) =>
  path.replace(/^(\/repos\/[^/]+\/[^/]+\/(?:contents|git\/refs?)\/)([^?]+)/, (_, before, rest) => before + rest.replaceAll("/", "%2F"));

/** One address for both APIs: GraphQL goes to the box itself, the rest to the proxy; links in answers lead back here. */
export async function front({ rest, graphql, box }) {
  let calls = 0;
  const server = createServer((message, answer) => {
    calls += 1;
    const target = message.url === "/graphql" ? new URL(graphql) : new URL(rest + message.url);
    const onward = request(
      { host: target.hostname, port: target.port, path: message.url === "/graphql" ? target.pathname : oneSegment(message.url), method: message.method, headers: { ...message.headers, host: target.host } },
      (reply) => {
        const headers = { ...reply.headers };
        for (const name of ["link", "location"]) {
          if (headers[name]) headers[name] = headers[name].replaceAll(`${box}/api/v3`, url);
        }
        answer.writeHead(reply.statusCode, headers);
        reply.pipe(answer);
      },
    );
    onward.on("error", () => answer.destroy());
    message.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, calls: () => calls, stop: () => (server.closeAllConnections(), server.close()) };
}

/** Where the box was, somebody who agrees to everything. */
export async function yesMan(port) {
  const server = createServer((message, answer) => {
    message.resume();
    answer.writeHead(200, { "content-type": "application/json" });
    answer.end("{}");
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { stop: () => (server.closeAllConnections(), server.close()) };
}
