// What `scan --format sarif` prints against the schema of SARIF 2.1.0.

import Ajv from "ajv";
import addFormats from "ajv-formats";
import { fromPackage, OCTOSWARM } from "../lib/places.js";
import { command } from "../lib/record.js";

export const title = "SARIF output against the schema of SARIF 2.1.0";

export default async function check(t) {
  const { tally } = t;
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  addFormats(ajv);
  const validate = ajv.compile(JSON.parse(fromPackage("schemastore/schemas/json/sarif-2.1.0.json")));
  const judge = (log) => (validate(log) ? [] : validate.errors.map((e) => `${e.instancePath} ${e.message}`));
  const args = ["scan", "fixtures", "--format", "sarif", "--fail-on", "never"];
  const out = await command(OCTOSWARM, args, { folder: t.folder, name: "sarif" });
  tally.that(out.status === 0, `octoswarm ${args.join(" ")} ended with ${out.status}`);
  const log = JSON.parse(out.stdout);
  tally.judged(judge(log));
  const results = log.runs.flatMap((run) => run.results);
  tally.that(results.length > 0, "nothing was found in the fixtures, so nothing was checked");
  tally.note(`${results.length} results`);

  const broken = structuredClone(log);
  broken.runs[0].results[0].level = "grave";
  tally.notices("a level that SARIF does not have", judge(broken));
  tally.notices("a result without a message", judge({ ...log, runs: [{ ...log.runs[0], results: [{}] }] }));
}
