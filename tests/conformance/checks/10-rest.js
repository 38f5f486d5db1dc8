// Every REST call that was recorded, and the whole table of those that can be made, against GitHub's own description.

import { description, story, table, tests } from "../lib/material.js";

export const title = "REST calls against GitHub's OpenAPI description";

/** Calls of the table that no record shows, each with the reason. */
const NOT_RECORDED = {};

export default async function check(t) {
  const { tally } = t;
  const github = description(t);
  const { calls: endpoints } = await table(t);
  const rest = endpoints.filter((e) => !["graphql", "git"].includes(e.template));
  const operations = new Map();
  for (const endpoint of rest) {
    const { operation, problem } = github.endpoint(endpoint.method, endpoint.template);
    tally.judged(problem ? [`${endpoint.name}: ${problem}`] : []);
    if (operation) operations.set(endpoint.name, operation);
  }

  const told = await story(t);
  tally.that(told.status === 0 && told.story.ok, "the story of the demo did not come out right");
  const calls = [...told.calls, ...(await tests(t)).calls].filter((call) => call.path !== "/graphql");
  const seen = new Set();
  for (const call of calls) {
    tally.judged(github.judge(call).map((problem) => `${problem} (answered ${call.status})`));
    seen.add(github.find(call.method, call.path));
  }
  tally.note(`${told.calls.length} calls of the story and ${calls.length - told.calls.length} more of tests were judged`);

  // A call that is never made here is never judged either.
  for (const endpoint of rest) {
    const shown = calls.some((call) => call.method === endpoint.method && fits(endpoint.template, call.path));
    const reason = NOT_RECORDED[endpoint.name];
    tally.that(shown !== Boolean(reason), shown ? `${endpoint.name} is recorded: strike it off the list` : `${endpoint.name} was never called`);
    if (!shown && reason) tally.note(`${endpoint.name} is not recorded: ${reason}`);
  }
  const ours = new Set(operations.values());
  const foreign = [...seen].filter((operation) => operation && !ours.has(operation));
  tally.judged(foreign.map((o) => `${o.method} ${o.template} was called, and the table does not have it`));

  selfTest(tally, github, calls);
}

function fits(template, path) {
  const source = template.replaceAll(".", "\\.").replaceAll("{*}", ".+").replaceAll("{}", "[^/]+");
  return new RegExp(`^${source}$`).test(path);
}

/** One true call of each kind, broken in one place. */
function selfTest(tally, github, calls) {
  const like = (method, end) => structuredClone(calls.find((c) => c.method === method && c.path.endsWith(end) && c.status < 300));
  const review = () => like("POST", "/reviews");
  const broken = (call, change) => {
    change(call);
    return github.judge(call);
  };
  tally.notices("a path that does not exist", broken(review(), (c) => (c.path += "s")));
  tally.notices("a method that is not there", broken(review(), (c) => (c.method = "DELETE")));
  tally.notices("a strange key", broken(review(), (c) => (c.body.commit = "x")));
  tally.notices("a strange key in a comment", broken(review(), (c) => (c.body.comments[0].colour = "red")));
  tally.notices("a text where a number belongs", broken(review(), (c) => (c.body.comments[0].line = "7")));
  tally.notices("an event that GitHub does not know", broken(review(), (c) => (c.body.event = "PRAISE")));
  tally.notices("a missing body", broken(like("POST", "/check-runs"), (c) => (c.body = null)));
  tally.notices("a missing key", broken(like("POST", "/check-runs"), (c) => delete c.body.head_sha));
  tally.notices("a strange query key", broken(like("GET", "/pulls"), (c) => (c.query.sorted = "yes")));
  tally.notices("a query value out of its list", broken(like("GET", "/pulls"), (c) => (c.query.state = "ajar")));
  tally.notices("a path value of the wrong kind", github.judge({ method: "GET", path: "/repos/o/r/pulls/seven", query: {}, status: 200 }));
  tally.notices("an endpoint that GitHub does not have", [github.endpoint("GET", "/repos/{}/{}/swarms").problem].filter(Boolean));
}
