// The published schemas, golden documents and what the program writes, judged by a validator that is not ours.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { story } from "../lib/material.js";
import { mutations, pointers } from "../lib/mutate.js";
import { OCTOSWARM, ROOT } from "../lib/places.js";
import { command } from "../lib/record.js";

export const title = "documents against their JSON Schemas, by a validator of others";

// What may hold anything.
const OPEN = /\/(facts|config|params|details)\/|\/codebase\/metadata\//;
// Entries of lists and maps come and go.
const ENTRY = /\/\d+$|\/(byModule|agents|agentConfigs|documentation)\/[^/]+$/;
// What a contract calls optional, or gives a default.
const OPTIONAL = new Set(
  `description frameworks goals model clarifications projectContext effortBreakdown targetModule suggestedApproach technicalNotes
  riskFactors blockers estimatedCoverage suggestion tokenUsed temperature coverage byModule estimatedDurationMs requiredSetup
  knownLimitations line column snippet exampleImprovement references estimatedFixTime userInput config useCache force facts
  tokenUsage errors warnings cacheHit cacheKey contextPath iterations askedClarifications filesGenerated totalLOC syntaxErrors
  lintingIssues testsExecuted executionResults coverageAchieved findingsCount bySeverity readiness promptVersion field recoverable
  totalTestLOC plan code tests review line_numbers content_preview repo_url reference params`.split(/\s+/),
);
const ALL_OPTIONAL = new Set(["agent-config", "pipeline-options"]);
// What the tools of a change do not ask for.
const OPTIONAL_IN = {
  "create-proposal": new Set("new_files affected_specs depends affected_code breaking_changes".split(" ")),
  "create-spec": new Set("priority given flow_diagram data_model".split(" ")),
  "create-tasks": new Set("spec_ref depends".split(" ")),
  "create-review": new Set("issues category file recommendation test_results".split(" ")),
};
// What a contract allows to be null.
const NULLABLE = new Set(
  "projectContext plan task result final_outcome timestamp merged_by merge_commit current_issue current_pr last_run".split(" "),
);

export default async function check(t) {
  const { tally } = t;
  const run = (args, name) => command(OCTOSWARM, args, { folder: t.folder, name });
  const names = (await run(["schema"], "schemas")).stdout.trim().split("\n").map((line) => line.split(" ")[0]);
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  addFormats(ajv);
  const published = readdirSync(join(ROOT, "src/artifact/schema")).map((file) => file.replace(/\.json$/, "")).sort();
  tally.that(`${published}` === `${[...names].sort()}`, `published are ${published}, and the program names ${names}`);

  const judges = new Map();
  for (const name of names) {
    const printed = (await run(["schema", name], "schema")).stdout;
    tally.that(printed === readFileSync(join(ROOT, "src/artifact/schema", `${name}.json`), "utf8"), `${name}: printed otherwise than published`);
    // Compiling judges the schema itself by that of its draft.
    judges.set(name, ajv.compile(JSON.parse(printed)));
  }
  const judge = (name, document) => {
    const validate = judges.get(name);
    return validate(document) ? [] : validate.errors.map((e) => `${name}${e.instancePath} ${e.message}`);
  };

  let broken = 0;
  for (const name of names) {
    const folder = join(ROOT, "fixtures/artifacts", name);
    for (const file of readdirSync(folder)) {
      const document = JSON.parse(readFileSync(join(folder, file), "utf8"));
      tally.judged(judge(name, document).map((problem) => `${file} of ${problem}`));
      for (const pointer of pointers(document)) {
        for (const { what, body } of mutations(document, pointer)) {
          if (may(name, pointer, what)) continue;
          broken += 1;
          tally.that(judge(name, JSON.parse(body)).length > 0, `${name}/${file}: ${what} went unnoticed`);
        }
      }
      if (document.constructor === Object && name !== "documentation-map") {
        tally.notices(`${name}/${file} with a field that nobody knows`, judge(name, { ...document, surprise: 1 }));
      }
    }
  }
  tally.note(`${broken} broken copies`);

  const { documents } = await story(t);
  tally.that(documents.length > 0, "the story left no documents, so none was checked");
  for (const { file, content } of documents) {
    const name = file === "context.json" ? "project-context" : file === "result.json" ? "pipeline-result" : file.replace(/\.json$/, "");
    tally.that(judges.has(name), `the story left ${file}, which is no document that is published`);
    if (judges.has(name)) tally.judged(judge(name, content).map((problem) => `the story's ${problem}`));
  }
  tally.note(`${documents.length} documents of the story`);
}

/** Whether a document that was changed so may still be valid. */
function may(name, pointer, what) {
  const key = pointer.split("/").pop();
  if (OPEN.test(pointer) || (pointer === "/facts" && !what.endsWith("dropped"))) return true;
  // The result of a failed output is null, and what takes its place here is a map of texts: documentation.
  if (name === "agent-output" && pointer === "/result" && what.endsWith("retyped")) return true;
  if (what.endsWith("nulled")) return NULLABLE.has(key);
  if (!what.endsWith("dropped")) return false;
  const inMap = name === "documentation-map" || (name === "review-aggregate" && /^\/errors\/[^/]+$/.test(pointer));
  return ENTRY.test(pointer) || inMap || OPTIONAL.has(key) || ALL_OPTIONAL.has(name) || Boolean(OPTIONAL_IN[name]?.has(key));
}
