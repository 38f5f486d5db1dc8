// GitHub's own description of its REST API as a judge of requests: strict about what is sent, silent about answers.

import Ajv from "ajv";
import addFormats from "ajv-formats";
import { fromPackage } from "./places.js";

const METHODS = ["get", "put", "post", "delete", "patch"];

export class Description {
  constructor() {
    this.doc = asJsonSchema(JSON.parse(fromPackage("@octokit/openapi/generated/api.github.com.json")));
    this.ajv = new Ajv({ strict: false, allErrors: true, logger: false });
    addFormats(this.ajv);
    // GitHub writes these without meaning a validator.
    for (const format of ["repo.nwo", "timestamp"]) this.ajv.addFormat(format, true);
    this.ajv.addSchema(this.doc, "github");
    this.coercing = new Ajv({ strict: false, coerceTypes: "array", logger: false });
    addFormats(this.coercing);
    this.coercing.addSchema(this.doc, "github");
    this.validators = new Map();
    this.operations = [];
    for (const [template, item] of Object.entries(this.doc.paths)) {
      for (const method of METHODS.filter((method) => item[method])) {
        const operation = item[method];
        const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((p) => this.resolve(p));
        this.operations.push({
          method: method.toUpperCase(),
          template,
          pointer: `#/paths/${template.replaceAll("~", "~0").replaceAll("/", "~1")}/${method}`,
          operation,
          parameters,
          pattern: pattern(template, parameters),
          literal: template.split("/").filter((part) => !part.startsWith("{")).length,
        });
      }
    }
    // `/issues/comments/{id}` before `/issues/{number}/…`.
    this.operations.sort((a, b) => b.literal - a.literal);
  }

  resolve(node) {
    while (node?.$ref) {
      const path = node.$ref.replace(/^github/, "").replace("#/", "").split("/");
      node = path.reduce((at, key) => at[key.replaceAll("~1", "/").replaceAll("~0", "~")], this.doc);
    }
    return node;
  }

  find(method, path) {
    return this.operations.find((o) => o.method === method && o.pattern.test(path));
  }

  /** The operation of an endpoint of ours, by shape: as many places, the same words between them. */
  endpoint(method, template) {
    const path = template.replaceAll("{*}", "a/b").replaceAll("{}", "1");
    const found = this.find(method, path);
    if (!found) return { problem: `${method} ${template} is not in GitHub's description` };
    const words = (text) => text.split("/").filter((part) => !part.startsWith("{")).join("/");
    // `/git/ref/heads/{*}` is `/git/ref/{ref}`: the words of ours may begin the value of a place.
    const ours = words(template);
    if (!isSubsequence(words(found.template).split("/"), ours.split("/"))) {
      return { problem: `${method} ${template} is taken for ${found.template}` };
    }
    return { operation: found };
  }

  /** What is wrong with a call: `{ method, path, query, body, status }`. */
  judge(call) {
    const at = `${call.method} ${call.path}`;
    const found = this.find(call.method, call.path);
    if (!found) return [`${at}: there is no such operation`];
    const problems = [];
    const values = decodeURIComponentsOf(found.pattern.exec(call.path).groups ?? {});
    for (const [key, value] of Object.entries(values)) {
      const parameter = found.parameters.find((p) => p.in === "path" && place(p.name) === key);
      if (parameter) problems.push(...this.value(found, parameter, value, at));
    }
    for (const [key, value] of Object.entries(call.query ?? {})) {
      const parameter = found.parameters.find((p) => p.in === "query" && p.name === key);
      if (!parameter) problems.push(`${at}: the query key \`${key}\` is not declared by ${found.template}`);
      else problems.push(...this.value(found, parameter, value, at));
    }
    for (const parameter of found.parameters.filter((p) => p.in === "query" && p.required)) {
      if (!(parameter.name in (call.query ?? {}))) problems.push(`${at}: the query key \`${parameter.name}\` is required`);
    }
    const wanted = this.resolve(found.operation.requestBody);
    const sent = call.body !== null && call.body !== undefined;
    if (sent && !wanted) problems.push(`${at}: a body is sent, and none is declared`);
    if (!sent && wanted?.required) problems.push(`${at}: a body is required`);
    if (sent && wanted) problems.push(...this.body(found, wanted, call.body, at));
    if (call.status >= 200 && call.status < 300 && !found.operation.responses[call.status]) {
      problems.push(`${at}: answered ${call.status}, which is not declared`);
    }
    return problems;
  }

  value(found, parameter, value, at) {
    const schema = absolute(parameter.schema ?? {});
    const list = schema.type === "array" ? value.split(",") : value;
    const validate = this.compiled(this.coercing, `${found.pointer}?${parameter.in}.${parameter.name}`, {
      type: "object",
      properties: { value: schema },
    });
    if (validate({ value: list })) return [];
    return validate.errors.map((e) => `${at}: \`${parameter.name}\` is ${JSON.stringify(value)}, which ${e.message}`);
  }

  body(found, wanted, body, at) {
    const content = wanted.content["application/json"];
    if (!content) return [`${at}: JSON is sent where ${Object.keys(wanted.content)} is declared`];
    const schema = absolute(content.schema);
    const validate = this.compiled(this.ajv, found.pointer, schema);
    const invalid = validate(body) ? [] : validate.errors.map((e) => `${at}: body${e.instancePath} ${e.message}`);
    const strange = this.undeclared([schema], body, "").map((key) => `${at}: the key \`${key}\` is not declared`);
    return [...invalid, ...strange];
  }

  compiled(ajv, name, schema) {
    if (!this.validators.has(name)) this.validators.set(name, ajv.compile(schema));
    return this.validators.get(name);
  }

  /** Keys, at every depth, that no branch of the schema names. */
  undeclared(schemas, value, at) {
    const branches = schemas.flatMap((schema) => this.branches(schema));
    if (Array.isArray(value)) {
      const items = branches.filter((b) => b.items).map((b) => b.items);
      return items.length === 0 ? [] : value.flatMap((item, index) => this.undeclared(items, item, `${at}/${index}`));
    }
    if (value === null || typeof value !== "object") return [];
    const named = branches.filter((b) => b.properties);
    const free = branches.some((b) => b.additionalProperties) || (named.length === 0 && branches.length > 0);
    return Object.entries(value).flatMap(([key, inner]) => {
      const of = named.filter((b) => Object.hasOwn(b.properties, key)).map((b) => b.properties[key]);
      if (of.length > 0) return this.undeclared(of, inner, `${at}/${key}`);
      return free ? [] : [`${at}/${key}`];
    });
  }

  branches(schema) {
    const it = this.resolve(schema);
    const inner = [...(it.oneOf ?? []), ...(it.anyOf ?? []), ...(it.allOf ?? [])];
    const self = it.properties || it.items || it.additionalProperties || inner.length === 0 ? [it] : [];
    return [...self, ...inner.flatMap((branch) => this.branches(branch))];
  }
}

function isSubsequence(short, long) {
  let at = 0;
  for (const word of long) if (word === short[at]) at += 1;
  return at === short.length;
}

const place = (name) => name.replaceAll(/[^a-zA-Z0-9_]/g, "_");

function pattern(template, parameters) {
  const escaped = template.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&");
  const source = escaped.replaceAll(/\{([^}]+)\}/g, (_, name) => {
    const parameter = parameters.find((p) => p.in === "path" && p.name === name);
    const several = parameter?.["x-multi-segment"] || ["ref", "path"].includes(name);
    return `(?<${place(name)}>${several ? ".+" : "[^/]+"})`;
  });
  return new RegExp(`^${source}$`);
}

const decodeURIComponentsOf = (values) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, decodeURIComponent(value)]));

/** A reference inside the description, from anywhere. */
function absolute(node) {
  if (Array.isArray(node)) return node.map(absolute);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "$ref" && value.startsWith("#") ? `github${value}` : absolute(value)]),
  );
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has a union of types. `named`: the keys are names, not keywords. */
function asJsonSchema(node, named = false) {
  if (Array.isArray(node)) {
    for (const item of node) asJsonSchema(item);
    return node;
  }
  if (node === null || typeof node !== "object") return node;
  for (const [key, value] of Object.entries(node)) asJsonSchema(value, !named && ["properties", "schemas", "paths"].includes(key));
  if (named) return node;
  if (node.nullable === true) {
    delete node.nullable;
    if (typeof node.type === "string") node.type = [node.type, "null"];
    if (Array.isArray(node.enum) && !node.enum.includes(null)) node.enum.push(null);
    for (const union of ["oneOf", "anyOf"]) if (node[union]) node[union].push({ type: "null" });
    if (node.allOf && !node.type) {
      node.anyOf = [{ allOf: node.allOf }, { type: "null" }];
      delete node.allOf;
    }
  }
  // Examples are data: a `$ref` or an `$id` in them would be taken for more.
  delete node.example;
  delete node.examples;
  return node;
}
