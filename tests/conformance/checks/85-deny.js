// What the binary is made of against `deny.toml`: licences, banned crates, where they come from.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/places.js";
import { command } from "../lib/record.js";

export const title = "dependencies against deny.toml";
export const only = "full";

const VERSION = "0.20.2";

export default async function check(t) {
  const { tally } = t;
  const program = await installed(t.folder);
  const deny = (name, what, config) =>
    command(program, ["--manifest-path", join(ROOT, "Cargo.toml"), "--locked", "--config", config, "check", ...what], { folder: t.folder, name });
  const said = (name) => readFileSync(join(t.folder, `${name}.log`), "utf8");

  const own = join(ROOT, "deny.toml");
  for (const what of ["bans", "licenses", "sources"]) {
    const out = await deny(`deny-${what}`, [what], own);
    tally.that(out.status === 0, `${what}: ${said(`deny-${what}`).slice(-3000)}`);
  }

  const broken = async (name, what, from, to) => {
    const text = readFileSync(own, "utf8");
    if (!text.includes(from)) throw new Error(`deny.toml has no ${from} to break`);
    const config = join(t.folder, `${name}.toml`);
    writeFileSync(config, text.replace(from, to));
    const out = await deny(name, [what], config);
    return out.status !== 0 && `${out.stdout}${said(name)}`.includes(`${what} FAILED`) ? [`${what} failed`] : [];
  };
  tally.notices("a licence that is not allowed", await broken("no-mit", "licenses", '  "MIT",\n', ""));
  tally.notices("a crate that is banned", await broken("no-serde", "bans", 'name = "serde_yaml"', 'name = "serde"'));
  tally.note(`cargo-deny ${VERSION} or the one on PATH: ${program}`);
}

/** The one on PATH, or the pinned one, built once into target/. */
async function installed(folder) {
  if (spawnSync("cargo-deny", ["--version"]).status === 0) return "cargo-deny";
  const root = join(ROOT, "target/tools");
  const program = join(root, "bin/cargo-deny");
  if (existsSync(program)) return program;
  console.log(`cargo-deny is missing: building ${VERSION} into target/tools, which takes minutes`);
  const args = ["install", "cargo-deny", "--version", VERSION, "--locked", "--root", root];
  const out = await command("cargo", args, { folder, name: "install-cargo-deny" });
  if (out.status !== 0) {
    const told = readFileSync(join(folder, "install-cargo-deny.log"), "utf8").slice(-2000);
    throw new Error(`cargo-deny ${VERSION} could not be built: put it on PATH, or see why:\n${told}`);
  }
  return program;
}
