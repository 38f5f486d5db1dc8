// Webhook signatures, both ways, with GitHub's own JavaScript signer and verifier; the App's JWT with Node's cryptography.

import { sign, verify } from "@octokit/webhooks-methods";
import { generateKeyPairSync } from "node:crypto";
import { story } from "../lib/material.js";
import { headers, jwtProblems, start } from "../lib/server.js";

export const title = "signatures with GitHub's own signer, both ways";

const quoted = (text) => JSON.stringify({ zen: text });

const BODIES = {
  "an empty object": "{}",
  "an empty body": "",
  "no JSON": "Hello, World!",
  spaces: " \t \n ",
  CRLF: '{\r\n  "zen": "two\\r\\nlines"\r\n}\r\n',
  "line ends mixed": '{\n"a":1,\r"b":2,\r\n"c":3}\n\r',
  "accents and emoji": quoted("Zażółć gęślą jaźń 🐙🐝 日本語 عربى"),
  "composed and decomposed": quoted("é \u0065\u0301"),
  "an escape of a lone surrogate": '{"zen":"\\ud83d"}',
  "a zero": quoted("a\u0000b"),
  "a byte order mark": `\uFEFF${quoted("x")}`,
  "separators of lines": quoted("\u2028\u2029\u0085"),
  "no-break and zero-width spaces": quoted("a\u00A0b\u200Bc\u2060d"),
  "the last code point": quoted("\u{10FFFF}"),
  "one byte": "1",
  "64 bytes, a block of the hash": "x".repeat(64),
  "63 bytes": "x".repeat(63),
  "65 bytes": "x".repeat(65),
  "256 KiB": quoted("k".repeat(256 * 1024)),
  "6 MiB": quoted("ź".repeat(3 * 1024 * 1024)),
};

export default async function check(t) {
  const { tally } = t;
  const server = await start(t.folder, "signatures");
  t.atEnd(() => server.stop());
  const post = async (body, signature) => (await server.post(headers("ping", signature), body)).status;
  for (const [what, body] of Object.entries(BODIES)) {
    // Their signer refuses to sign nothing; GitHub sends no such body either.
    const signature = body === "" ? "sha256=" : await sign(server.secret, body);
    if (body !== "") tally.that((await post(body, signature)) === 202, `${what}: a good signature was refused`);
    for (const [how, wrong] of Object.entries(await wrongs(server.secret, body, signature))) {
      const status = await post(wrong.body ?? body, wrong.signature);
      tally.that(status === 401, `${what}, ${how}: answered ${status}`);
    }
  }
  const stored = server.rows("select count(*) as count from deliveries")[0].count;
  tally.that(stored === Object.keys(BODIES).length - 1, `${stored} deliveries are stored: what is refused leaves a trace`);

  // What our own side signs: the deliveries of the box.
  const { deliveries, secret } = await story(t);
  tally.that(deliveries.length > 10, `only ${deliveries.length} deliveries were recorded`);
  for (const { headers, payload } of deliveries) {
    const guid = headers["X-GitHub-Delivery"];
    const signature = headers["X-Hub-Signature-256"];
    tally.that(await verify(secret, payload, signature), `the box signed ${guid} wrong`);
    tally.that(!(await verify(secret, `${payload} `, signature)), "self-test: a payload with a space more passes");
    tally.that(!(await verify(`${secret}x`, payload, signature)), "self-test: another secret passes");
  }
  tally.note(`${Object.keys(BODIES).length} bodies to the server, ${deliveries.length} deliveries of the box`);

  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  tally.notices("a JWT of another key", jwtProblems(`${part({ alg: "RS256" })}.${part({ iss: 4242, iat: 0, exp: 9 })}.AAAA`, other));
}

async function wrongs(secret, body, signature) {
  const flipped = signature.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  const of = async (key, text) => (text === "" ? "sha256=" : sign(key, text));
  return {
    "a digit changed": { signature: flipped },
    "signed with another secret": { signature: await of(`${secret} `, body || "x") },
    "no signature": { signature: "" },
    "only the prefix": { signature: "sha256=" },
    "without the prefix": { signature: signature.slice(7) || "0" },
    "SHA-1's prefix": { signature: signature.replace("sha256", "sha1") },
    "a byte more": { signature, body: `${body} ` },
    ...(body.length > 1 ? { "a byte less": { signature, body: body.slice(0, -1) } } : {}),
    ...(body.includes("\r\n") ? { "line ends made LF": { signature, body: body.replaceAll("\r\n", "\n") } } : {}),
    ...(body.normalize("NFC") === body ? {} : { "normalised": { signature, body: body.normalize("NFC") } }),
  };
}
