/** List of the promises with their states. */
import type { LiveApplication } from "../live.ts";
import { element, setText } from "./dom.ts";

export function promiseList(): { root: HTMLElement; update: (one: LiveApplication) => void } {
  const root = element("div");
  return {
    root,
    update: ({ promises }) => {
      for (const [place, { holds, isDoubted, text }] of promises.entries()) {
        const line = root.children[place] ?? root.appendChild(element("p"));
        line.className = `note ${holds ? (isDoubted ? "worse" : "kept") : "broken"}`;
        setText(line, text);
      }
    },
  };
}
