// The story once more, every REST call through Prism, a proxy that validates by GitHub's description as others read it.

import { setTimeout as wait } from "node:timers/promises";
import { freePort, front, prism, yesMan } from "../lib/proxy.js";
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

  // Prism judges when it has an answer, and the box is gone by now.
  const upstream = await yesMan(port);
  t.atEnd(() => upstream.stop());
  const review = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const noticed = async (path, options) => {
    const so_far = violations(proxy.log()).length;
    await (await fetch(`${proxy.url}${path}`, options)).text();
    await wait(500);
    return violations(proxy.log()).slice(so_far);
  };
  tally.that((await noticed("/repos/o/r/pulls/7/reviews", review({ event: "COMMENT", body: "x" }))).length === 0, "self-test: a good call is taken for a bad one");
  tally.notices("a pull request's number that is none", await noticed("/repos/o/r/pulls/seven"));
  tally.notices("an event that GitHub does not know", await noticed("/repos/o/r/pulls/7/reviews", review({ event: "PRAISE" })));
  tally.notices("a path that does not exist", await noticed("/repos/o/r/swarms"));
  tally.note(`${told.calls.length} calls through the proxy`);
}

/** Each with the request before it in the log; what answers lack is not ours to judge. */
function violations(log) {
  let request = "";
  return log.split("\n").flatMap((line) => {
    request = /\[HTTP SERVER\] (\S+ \S+)/.exec(line)?.[1] ?? request;
    const problem = /Violation: request.*/.exec(line)?.[0];
    return problem ? [`about ${request}: ${problem}`] : [];
  });
}
