/** Process that tries mutants, one after another, and tells of each before and after. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { axesByFile, originals, Trial } from "./trial.ts";

/** What a process is asked: mutants of a bundle, from one on. */
export interface Order {
  readonly root: string;
  /** Index among the originals. */
  readonly original: number;
  readonly seed: number;
  readonly stream: number;
  readonly count: number;
}

/** What it tells: that it begins an accepted one, and what became of it. */
export type Told =
  | { readonly kind: "driving"; readonly told: string }
  | { readonly kind: "done" }
  | { readonly kind: "lost"; readonly reason: string }
  | ({ readonly kind: "over" } & Counts);

/** An accepted bundle takes no longer for all that is done with it, of the process's own time. */
export const STALL_MS = 1000;

/** How many mutants of a method came to what. */
export interface Counts {
  readonly method: Bundle["method"];
  readonly tried: number;
  readonly accepted: number;
  readonly served: number;
}

/** As the parent hears it. */
export async function tryAll(order: Order, tell: (told: Told) => void): Promise<void> {
  const { root, original, seed, stream, count } = order;
  const found = originals(root)[original];
  if (found === undefined) throw new RangeError(`there is no bundle ${original}`);
  const trial = new Trial(found, axesByFile(root), seed, stream);
  let [accepted, served] = [0, 0];
  for (let index = 0; index < count; index++) {
    const before = process.cpuUsage();
    try {
      const {
        refusal,
        isServed,
        told: mutant,
      } = await trial.next((told) => tell({ kind: "driving", told }));
      if (refusal !== null) continue;
      accepted++;
      if (isServed) served++;
      const { user, system } = process.cpuUsage(before);
      const ms = (user + system) / 1000;
      if (ms > STALL_MS) throw new Error(`${mutant}: it took ${ms} ms`);
    } catch (error) {
      accepted++;
      const reason = error instanceof Error ? error.message : String(error);
      tell({ kind: "lost", reason: `seed ${seed}, stream ${stream}, ${index}: ${reason}` });
    }
    tell({ kind: "done" });
  }
  tell({ kind: "over", method: found.bundle.method, tried: count, accepted, served });
}

if (process.send !== undefined && process.env["STRATAGEM_TRIALS"] === "1") {
  process.on("disconnect", () => process.exit());
  process.once("message", (order: Order) => {
    void tryAll(order, (told) => process.send?.(told)).then(() => process.disconnect());
  });
}
