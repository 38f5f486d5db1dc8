// Probot's receiver as its own server mounts it, with a handler that does nothing. It stores nothing.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { createNodeMiddleware, createProbot } from "probot";

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const probot = createProbot({
  overrides: { appId: 987654, privateKey, secret: process.env.WEBHOOK_SECRET, logLevel: "fatal" },
});
const middleware = await createNodeMiddleware((app) => app.on("pull_request", () => {}), {
  probot,
  webhooksPath: "/webhook",
});
const server = createServer(middleware);
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
