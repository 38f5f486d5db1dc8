// The receiver of @octokit/webhooks: verifies, parses, calls a handler that does nothing, answers. It stores nothing.
import { createServer } from "node:http";
import { Webhooks, createNodeMiddleware } from "@octokit/webhooks";

const webhooks = new Webhooks({ secret: process.env.WEBHOOK_SECRET });
webhooks.on("pull_request", () => {});
const server = createServer(createNodeMiddleware(webhooks, { path: "/webhook" }));
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
