/**
 * How long every instance took from being assigned to holding its model, and every resize from
 * being asked for to being in force, of a server that is recorded.
 */
import { secondsText } from "./metrics.ts";
import { ascending, ms, present, quantile } from "./numbers.ts";

/** What a recorded server tells of its stages, with the time of the event. */
export interface StageEntry {
  readonly kind: "assign" | "release" | "resize" | "resized" | "model-ready" | "lost";
  readonly nowMs: number;
  readonly worker: number;
  readonly variant?: number;
  readonly cores?: number;
}

interface Instance {
  readonly task: string;
  /** 0 where instances have as many as they have. */
  readonly cores: number;
  /** Cores that it has until the change is there; 0 while it comes up. */
  readonly before: number;
  /** Of the change that is not there yet; NaN if there is none. */
  readonly sinceMs: number;
}

interface Change extends Instance {
  readonly worker: number;
  readonly tookMs: number;
}

interface NamedTask {
  readonly name: string;
  readonly variants: readonly unknown[];
}

export class InstanceChanges {
  /** Variants are counted over all tasks, one after another. */
  readonly #taskByVariant: readonly string[];
  readonly #instances = new Map<number, Instance>();
  readonly #changes: Change[] = [];

  constructor({ tasks }: { readonly tasks: readonly NamedTask[] }) {
    this.#taskByVariant = tasks.flatMap(({ name, variants }) => variants.map(() => name));
  }

  onEntry({ kind, nowMs, worker, variant = 0, cores = 0 }: StageEntry): void {
    const instance = this.#instances.get(worker);
    if (kind === "assign") {
      const task = present(this.#taskByVariant[variant], "a variant");
      this.#instances.set(worker, { task, cores, before: 0, sinceMs: nowMs });
    } else if (kind === "release" || kind === "lost") this.#instances.delete(worker);
    else if (instance === undefined) return;
    else if (kind === "resize") this.#instances.set(worker, resized(instance, cores, nowMs));
    else if (!Number.isNaN(instance.sinceMs)) {
      this.#changes.push({ ...instance, worker, tookMs: nowMs - instance.sinceMs });
      this.#instances.set(worker, { ...instance, before: 0, sinceMs: Number.NaN });
    }
  }

  /** @param shiftMs of our zero on the server's clock. */
  lines(shiftMs: number): string[] {
    const told = this.#changes.map(({ task, worker, before, cores, sinceMs, tookMs }) => {
      const own = cores === 0 ? "" : ` with ${coresText(cores)}`;
      const what = before > 0 ? `${before} to ${coresText(cores)}` : `up${own}`;
      const at = secondsText(sinceMs - shiftMs);
      return `  ${at}: ${task} on worker ${worker}: ${what} in ${ms(tookMs)}`;
    });
    const resizes = this.#changes.filter(({ before }) => before > 0);
    const took = ascending(resizes.map(({ tookMs }) => tookMs));
    if (took.length === 0) return told;
    const [least, median, most] = [0, 0.5, 1].map((share) => ms(quantile(took, share)));
    const all = `in force after ${least} at least, ${median} median, ${most} at most`;
    return [...told, `${took.length} resizes: ${all}`];
  }
}

/** One that comes up starts with these cores. */
function resized(instance: Instance, cores: number, nowMs: number): Instance {
  const isUp = Number.isNaN(instance.sinceMs) || instance.before > 0;
  return {
    task: instance.task,
    cores,
    before: isUp ? instance.cores : 0,
    sinceMs: isUp ? nowMs : instance.sinceMs,
  };
}

export function coresText(cores: number): string {
  return cores === 1 ? "1 core" : `${cores} cores`;
}
