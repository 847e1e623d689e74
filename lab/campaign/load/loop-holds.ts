/** How long the event loop of a server was held, as the hook `loop-hold.cjs` in it writes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The longest that one request may hold the event loop. */
export const HOLD_MS = 50;

const HOLDS = "lab/campaign/load/loop-hold.cjs";
/** A hold so soon after a reload is the reload's. */
const RELOAD_MS = 2000;

export class LoopHolds {
  readonly env: NodeJS.ProcessEnv;
  readonly #file: string;
  #beganMs = Number.POSITIVE_INFINITY;

  constructor(file: string) {
    this.#file = file;
    this.env = {
      STRATAGEM_LOOP_HOLDS: file,
      NODE_OPTIONS: `--require=${join(process.cwd(), HOLDS)}`,
    };
    writeFileSync(file, "");
  }

  begin(): void {
    this.#beganMs = Date.now();
  }

  /** @param reloadedMs times of reloads. @returns the longest beside reloads, and of those, ms. */
  end(reloadedMs: readonly number[] = []): { readonly alone: number; readonly reloading: number } {
    const longest = { alone: 0, reloading: 0 };
    for (const line of readFileSync(this.#file, "utf8").trim().split("\n")) {
      const [atMs = 0, heldMs = 0] = line.split(" ").map(Number);
      if (atMs < this.#beganMs) continue;
      const isReload = reloadedMs.some((ms) => atMs >= ms && atMs < ms + RELOAD_MS);
      const kind = isReload ? "reloading" : "alone";
      longest[kind] = Math.max(longest[kind], heldMs);
    }
    return longest;
  }
}
