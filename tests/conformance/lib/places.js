import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const HERE = join(dirname(fileURLToPath(import.meta.url)), "..");
export const ROOT = join(HERE, "../..");
export const OCTOSWARM = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug/octoswarm");

/** A file of a pinned package, read as it was published. */
export const fromPackage = (path) => readFileSync(join(HERE, "node_modules", path), "utf8");
