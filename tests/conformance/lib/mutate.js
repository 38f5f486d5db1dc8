// A payload with one field dropped, nulled or of another type.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./places.js";

/** What the payload parser reads: the pointers in its source, so that none can be forgotten. */
export function pointersRead() {
  const folder = join(ROOT, "src/github/payload");
  const sources = readdirSync(folder).filter((name) => name.endsWith(".rs") && name !== "tests.rs");
  const text = sources.map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
  const found = [...text.matchAll(/"((?:\/[a-z_]+)+)["/]/g)].map((m) => m[1]);
  // What is read of every person, of every entry of a list and of an installation's account.
  const people = found.filter((pointer) => /\/(sender|user)$/.test(pointer));
  return [...new Set([...found, ...people.flatMap((p) => [`${p}/id`, `${p}/login`, `${p}/type`]), "/installation/account/login"])].sort();
}

/** Every pointer into a value, lists by their first entry only. */
export function pointers(value, at = "") {
  if (value === null || typeof value !== "object") return [];
  const entries = Array.isArray(value) ? Object.entries(value).slice(0, 1) : Object.entries(value);
  return entries.flatMap(([key, inner]) => {
    const pointer = `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return [pointer, ...pointers(inner, pointer)];
  });
}

const retyped = (value) => {
  if (value === null) return { was: "null" };
  if (Array.isArray(value)) return { 0: value[0] ?? null };
  return { string: 7, number: `${value}`, boolean: "yes", object: [value] }[typeof value];
};

/** The three ways to break one field; `null` where there is no such field. */
export function mutations(payload, pointer) {
  const path = pointer.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = path.pop();
  const made = [];
  for (const way of ["dropped", "nulled", "retyped"]) {
    const copy = structuredClone(payload);
    const holder = path.reduce((at, part) => at?.[part], copy);
    if (holder === null || typeof holder !== "object" || !(key in holder)) return [];
    if (way === "dropped" && Array.isArray(holder)) holder.splice(Number(key), 1);
    else if (way === "dropped") delete holder[key];
    else holder[key] = way === "nulled" ? null : retyped(holder[key]);
    made.push({ what: `${pointer} ${way}`, body: JSON.stringify(copy) });
  }
  return made;
}
