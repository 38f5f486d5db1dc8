// The story once more, every REST call through Prism, a proxy that validates by GitHub's description as others read it.

import { freePort, front, prism } from "../lib/proxy.js";
import * as record from "../lib/record.js";

export const title = "the story through Prism, a validating proxy";
export const only = "full";

export default async function check(t) {
  const { tally } = t;
  const port = await freePort();
  const box = `http://127.0.0.1:${port}`;
  const proxy = await prism(t.folder, `${box}/api/v3`);
  t.atEnd(() => proxy.stop());
  const between = await front({ rest: proxy.url, graphql: `${box}/api/graphql`, box });
  t.atEnd(() => between.stop());

  const told = await record.story(t.folder, ["--box-port", String(port), "--api-url", between.url]);
  tally.that(told.status === 0 && told.story.ok, `the story came out wrong: ${JSON.stringify(told.story.scenarios?.filter((s) => !s.ok))}`);
  tally.that(between.calls() >= told.calls.length && told.calls.length > 100, `only ${between.calls()} of ${told.calls.length} calls came by the proxy`);
  const before = violations(proxy.log());
  tally.judged(before);

  // A call that breaks the description has to show: by a path, and by a body.
  await fetch(`${proxy.url}/repos/o/r/pulls/seven`).catch(() => {});
  tally.that(violations(proxy.log()).length > before.length, "self-test: a pull request's number that is none went unnoticed");
  const wrong = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ event: "PRAISE" }) };
  const middle = violations(proxy.log()).length;
  await fetch(`${proxy.url}/repos/o/r/pulls/7/reviews`, wrong).catch(() => {});
  tally.that(violations(proxy.log()).length > middle, "self-test: an event that GitHub does not know went unnoticed");
  tally.note(`${told.calls.length} calls through the proxy`);
}

/** One for each line; what answers lack is not ours to judge. */
const violations = (log) => log.split("\n").filter((line) => /Violation: request/.test(line));
