/** Promise by promise whether it holds, and since when and why one does not. */
import type { LiveApplication, LivePromise } from "../live.ts";
import { element, setText } from "./dom.ts";
import { ratioText } from "./numbers.ts";

export class PromiseList {
  readonly root = element("ul", { class: "promises", "aria-label": "Promises" });

  update({ promises }: LiveApplication): void {
    this.root.hidden = promises.length === 0;
    while (this.root.children.length > promises.length) this.root.lastElementChild?.remove();
    for (const [place, promise] of promises.entries()) {
      const item = this.root.children[place] ?? this.root.appendChild(element("li"));
      item.className = promise.holds ? "kept" : "broken";
      setText(item, promiseText(promise));
    }
  }
}

function promiseText({ name, brokenSinceMs, evidence, because }: LivePromise): string {
  if (brokenSinceMs === null) {
    const doubt = evidence >= 0.1 ? ` (evidence against it: ${ratioText(evidence)})` : "";
    return `✓ ${name}: holds${doubt}`;
  }
  const since = new Date(brokenSinceMs).toLocaleTimeString();
  return `✗ ${name}: broken since ${since}, because ${because}`;
}
