// Values that a JSON Schema allows, and every text in them.

/** Texts that patterns tend to want. */
const TEXTS = ["discount", "change-1", "R1", "1.1", "src/discount.py", "0".repeat(24), "0123456789abcdef0123456789abcdef", "2026-01-01T00:00:00Z", "main", "octoswarm://rules"];

/** A value that has everything which the schema knows, as small as it may be. */
export function sample(schema) {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = (schema.anyOf ?? schema.oneOf ?? []).find((one) => one.type !== "null");
  if (choice) return sample(choice);
  const type = [schema.type].flat().find((one) => one !== "null");
  if (type === "string") return text(schema);
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return false;
  if (type === "array") return Array.from({ length: Math.max(schema.minItems ?? 0, 1) }, () => sample(schema.items ?? {}));
  if (type === "object" || schema.properties) return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, inner]) => [key, sample(inner)]));
  return "x";
}

function text({ pattern, minLength = 0, maxLength = Infinity }) {
  const fits = (one) => one.length >= minLength && one.length <= maxLength && (!pattern || new RegExp(pattern, "u").test(one));
  return TEXTS.find(fits) ?? "Discounts of more than the price are refused. ".repeat(1 + minLength / 40).trimEnd();
}

/** Where a value has its texts: a list of ways to them. */
export function texts(value, way = []) {
  if (typeof value === "string") return [way];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => texts(inner, [...way, key]));
}

/** The value with another one at the end of the way. */
export function replaced(value, way, by) {
  const copy = structuredClone(value);
  const last = way.at(-1);
  way.slice(0, -1).reduce((at, key) => at[key], copy)[last] = by;
  return copy;
}
