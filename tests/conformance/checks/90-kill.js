// The kill loop at length: five hundred times SIGKILL at named points, against the box.

import { command } from "../lib/record.js";

export const title = "the kill loop, at length";
export const only = "full";

export default async function check(t) {
  const { tally } = t;
  const cycles = process.env.KILL_CYCLES ?? "500";
  const args = ["test", "--locked", "--test", "it", "kill_loop", "--", "--nocapture"];
  const out = await command("cargo", args, { folder: t.folder, name: "kill-loop", env: { KILL_CYCLES: cycles } });
  // The seed and the story of what broke are in what it prints.
  tally.that(out.status === 0, `it failed:\n${out.stdout.slice(-6000)}`);
  const told = new RegExp(`^${cycles} cycles in .*$`, "m").exec(out.stdout)?.[0];
  tally.that(told, `it does not say that it went through ${cycles} cycles`);
  if (told) tally.note(told);
}
