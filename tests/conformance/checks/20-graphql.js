// Every GraphQL document, and every set of variables that went with one, against GitHub's published schema.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, parse, validate } from "graphql";
import { getVariableValues } from "graphql/execution/values.js";
import { fromPackage, ROOT } from "../lib/places.js";
import { story, table, tests } from "../lib/material.js";

export const title = "GraphQL documents against GitHub's schema";

export default async function check(t) {
  const { tally } = t;
  const schema = buildSchema(fromPackage("@octokit/graphql-schema/schema.graphql"), { assumeValidSDL: true });
  const { calls: endpoints } = await table(t);
  const documents = new Map();
  for (const endpoint of endpoints.filter((e) => e.template === "graphql")) {
    tally.that(endpoint.document, `${endpoint.name} has no document`);
    documents.set(endpoint.document, endpoint.name);
    tally.judged(judge(schema, endpoint.document).map((problem) => `${endpoint.name}: ${problem}`));
  }

  // The table may lack one that the source has.
  const spelt = written(join(ROOT, "src/github"));
  tally.that(spelt.length >= documents.size, "the source could not be searched for documents");
  for (const { file, text } of spelt) {
    tally.that(documents.has(text), `${file} holds a document that \`octoswarm calls\` does not tell: ${text.slice(0, 60)}`);
  }

  const sent = [...(await story(t)).calls, ...(await tests(t)).calls].filter((call) => call.path === "/graphql");
  const used = new Set();
  for (const call of sent) {
    const name = documents.get(call.body.query);
    used.add(name);
    tally.that(name, `a document was sent that the table does not have: ${String(call.body.query).slice(0, 60)}`);
    if (name) tally.judged(variables(schema, call.body).map((problem) => `${name}: ${problem}`));
  }
  for (const name of documents.values()) {
    tally.that(used.has(name), `${name} was never sent`);
  }
  tally.note(`${documents.size} documents, sent ${sent.length} times`);

  const one = sent[0].body;
  tally.notices("a field that GitHub does not have", judge(schema, one.query.replace("pageInfo", "pageInformation")));
  tally.notices("a variable of the wrong type", judge(schema, one.query.replace("Int!", "String!")));
  tally.notices("a missing variable", variables(schema, { ...one, variables: {} }));
}

function judge(schema, document) {
  try {
    return validate(schema, parse(document)).map((error) => error.message);
  } catch (error) {
    return [error.message];
  }
}

function variables(schema, body) {
  const [operation] = parse(body.query).definitions;
  const declared = new Set(operation.variableDefinitions.map((definition) => definition.variable.name.value));
  const strange = Object.keys(body.variables ?? {}).filter((name) => !declared.has(name));
  const { errors } = getVariableValues(schema, operation.variableDefinitions, body.variables ?? {});
  return [...strange.map((name) => `the variable $${name} is not declared`), ...(errors ?? []).map((e) => e.message)];
}

/** String literals of the source that are GraphQL, as the compiler reads them. */
function written(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".rs"));
  return files.flatMap((file) => {
    const source = readFileSync(join(folder, file), "utf8");
    const literals = source.matchAll(/(?:r(#*)"([^]*?)"\1|"((?:[^"\\]|\\[^])*)")/g);
    return [...literals]
      .map((m) => m[2] ?? m[3].replaceAll(/\\\n\s*/g, "").replaceAll('\\"', '"').replaceAll("\\n", "\n"))
      .filter((text) => /^\s*(query|mutation|fragment|subscription)\b[^]*\{/.test(text))
      .map((text) => ({ file, text }));
  });
}
