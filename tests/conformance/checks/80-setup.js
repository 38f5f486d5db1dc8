// Set-up in a real browser: from a server with nothing configured to an App that is installed, labelled and heard.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { browser } from "../lib/chromium.js";
import { OCTOSWARM, ROOT } from "../lib/places.js";

export const title = "set-up in Chromium";
export const only = "full";

export default async function check(t) {
  const { tally } = t;
  const home = join(t.folder, "setup");
  mkdirSync(home, { recursive: true });
  const pictures = join(ROOT, "target/setup-pictures");
  mkdirSync(pictures, { recursive: true });

  const github = await program(home, ["demo", "--set-up"]);
  t.atEnd(github.stop);
  const githubUrl = github.first.replace("a GitHub in a box is at ", "");
  const server = await program(home, ["serve", "--listen", "127.0.0.1:0", "--state", "state"]);
  t.atEnd(server.stop);
  const base = server.first.replace("listening on ", "");
  const link = (await server.hears("set up octoswarm: open ")).split("open ")[1];

  const { context, stop } = await browser();
  t.atEnd(stop);
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints = [];
  for (const seen of [page]) listen(seen, complaints);
  context.on("page", (opened) => listen(opened, complaints));
  const foreign = [];
  context.on("request", (request) => {
    const origin = new URL(request.url()).origin;
    if (origin !== base && origin !== githubUrl && !request.url().startsWith("data:")) foreign.push(request.url());
  });

  const shot = async (name) => {
    for (const [kind, width, scheme] of [["", 1000, "light"], ["-dark", 1000, "dark"], ["-phone", 390, "light"]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: join(pictures, `${name}${kind}.png`), fullPage: true });
      const wider = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      tally.that(!wider, `${name}${kind}: the page is wider than the window`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1000, height: 800 });
  };

  // Without the link.
  const refused = await page.goto(`${base}/setup`);
  tally.that(refused.status() === 403, `without the link: ${refused.status()}`);
  await shot("1-stranger");

  // The form, first with mistakes.
  await page.goto(link);
  tally.that(page.url() === `${base}/setup`, `the token stays in the address: ${page.url()}`);
  const cookie = (await context.cookies()).find((cookie) => cookie.name === "octoswarm_setup");
  tally.that(cookie?.httpOnly && cookie.sameSite === "Lax", `the cookie: ${JSON.stringify(cookie)}`);
  await shot("2-form");
  await page.getByLabel("An Enterprise Server").check();
  await page.getByLabel("Address of the Enterprise Server").fill("http://ghe.example.com");
  await page.getByLabel("An organisation that I own").check();
  await page.getByLabel("Login of the organisation").fill("no such login");
  await page.getByLabel("Name of the App").fill("octoswarm-octo");
  await page.getByRole("button", { name: "Continue" }).click();
  tally.that(await page.getByText("must begin with https://").isVisible(), "an address in the clear is not told of");
  await shot("3-mistakes");
  await page.getByLabel("Address of the Enterprise Server").fill(githubUrl);
  await page.getByLabel("Login of the organisation").fill("octo");
  await page.getByLabel("That address").fill(base);
  await page.getByLabel("More than one organisation or account").check();
  await page.getByLabel("Whom octoswarm serves").fill("octo");
  await page.getByRole("button", { name: "Continue" }).click();
  await shot("4-continue");

  // Over to GitHub, which is another origin: the page's policy has to let the form go there.
  await page.getByRole("button", { name: /^Continue on/ }).click();
  await page.getByRole("button", { name: "Create GitHub App for octo" }).click();
  await page.waitForURL(`${base}/setup`);
  tally.that(await page.getByRole("heading", { name: "The App is made" }).isVisible(), "no App is told of");
  tally.that((statSync(join(home, "state/app.json")).mode & 0o777) === 0o600, "the keys are not their owner's alone");
  await shot("5-made");

  // The installation, in a tab of its own; the page notices.
  const [tab] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", { name: "Install on GitHub" }).click()]);
  await tab.getByLabel("octo", { exact: true }).check();
  await tab.getByRole("button", { name: "Install" }).click();
  await tab.getByRole("heading", { name: "Installed" }).waitFor();
  await tab.close();
  await page.bringToFront();
  await page.evaluate(() => document.activeElement?.blur());
  await page.getByText("octo/website").waitFor({ timeout: 15_000 });
  tally.that(true, "");
  await shot("6-installed");
  await page.getByRole("button", { name: "Make the missing labels" }).click();
  await page.getByRole("heading", { name: "octoswarm is ready" }).waitFor({ timeout: 15_000 });
  await shot("7-ready");
  const html = await page.content();
  tally.that(!/PRIVATE KEY|webhook_secret/.test(html), "a secret is in the page");
  await page.getByRole("button", { name: /^Finish/ }).click();
  await page.getByRole("heading", { name: "Set-up is done" }).waitFor();
  await shot("8-done");
  const closed = await page.goto(`${base}/setup`);
  tally.that(closed.status() === 404, `afterwards: ${closed.status()}`);
  const ready = await (await fetch(`${base}/readyz`)).json();
  tally.that(ready.ready === true, `the server is not ready: ${JSON.stringify(ready)}`);

  tally.that(foreign.length === 0, `something was loaded from elsewhere: ${foreign.join(", ")}`);
  tally.that(complaints.length === 0, `the browser complained: ${complaints.join("; ")}`);
  tally.note(`pictures: ${pictures}`);
}

/** What the browser itself objects to: a policy that is broken, a script that fails. */
function listen(page, complaints) {
  page.on("console", (message) => {
    // A page that is refused is told of by its status.
    if (message.type() === "error" && !message.text().includes("Failed to load resource")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
}

/** One of our programs, with nothing in its environment, and the first line it prints. */
async function program(home, args) {
  const child = spawn(OCTOSWARM, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, OCTOSWARM_WRITE_PACE_MS: "0", OCTOSWARM_SETTLE_MS: "50", OCTOSWARM_RECONCILE_SECONDS: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const waiting = [];
  child.stderr.on("data", (data) => {
    said += data;
    for (const look of waiting) look();
  });
  let gone = false;
  child.on("exit", () => (gone = true));
  const lines = createInterface({ input: child.stdout });
  const [first] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`octoswarm ${args[0]} ended: ${said}`))),
  ]);
  return {
    first,
    hears: (word) =>
      new Promise((resolve) => {
        const look = () => {
          const line = said.split("\n").slice(0, -1).find((line) => line.includes(word));
          if (line) resolve(line);
        };
        waiting.push(look);
        look();
      }),
    stop: async () => {
      if (gone) return;
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
      await once(child, "exit");
      clearTimeout(late);
    },
  };
}
