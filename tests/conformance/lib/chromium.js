// A real Chromium: the one on PATH, or Debian's where it may be installed.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

function onPath() {
  for (const name of NAMES) {
    const found = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
    if (found.status === 0) return found.stdout.trim();
  }
  return null;
}

function executable() {
  const found = onPath();
  if (found) return found;
  if (process.getuid?.() === 0 && spawnSync("sh", ["-c", "command -v apt-get"]).status === 0) {
    console.log("Chromium is missing: installing it with apt-get");
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["update", "-qq"], { stdio: "inherit", env });
    execFileSync("apt-get", ["install", "-qq", "-y", "--no-install-recommends", "chromium"], { stdio: ["ignore", "ignore", "inherit"], env });
    const installed = onPath();
    if (installed) return installed;
  }
  throw new Error(`no Chromium is here (${NAMES.join(", ")}): install one, then run this again`);
}

/** A browser that talks to nobody but the pages it is sent to. `stop` ends it. */
export async function browser() {
  const profile = mkdtempSync(join(tmpdir(), "octoswarm-chromium-"));
  const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  // As root there is no sandbox; elsewhere there is no reason to do without.
  if (process.getuid?.() === 0) flags.push("--no-sandbox");
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executable(),
    args: flags,
    viewport: { width: 1000, height: 800 },
  });
  return {
    context,
    stop: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
