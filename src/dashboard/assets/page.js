// Looks again every five seconds and swaps what changed, without moving the page under its reader.
"use strict";
setInterval(async () => {
  if (document.hidden || document.activeElement?.matches("button, a")) return;
  try {
    const answer = await fetch("/setup", { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    const now = document.querySelector("main");
    if (next && now.innerHTML !== next.innerHTML) now.replaceWith(next);
  } catch {
    // The server is away for a moment; the next look tells.
  }
}, 5000);
