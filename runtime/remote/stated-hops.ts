/**
 * The way to a server that does not say what a run took, by its statistics: what its batches took
 * from here, less what it says of them all.
 */
import { type Fields, fieldsOf } from "../exec/tensors/v2-codec.ts";
import type { Hops } from "./hops.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { RemoteMember } from "./remote-workers.ts";

/** What a server counts as the work on a request, once it begins; waiting is no work. */
const WORK = ["compute_input", "compute_infer", "compute_output"];

/** Of all requests of a model since its server began. */
interface Computed {
  readonly count: number;
  readonly ms: number;
}

interface Taken {
  count: number;
  ms: number;
  /** At the last look; null before the first. */
  last: Computed | null;
}

export class StatedHops {
  readonly #hops: Hops;
  readonly #connection: HttpConnection;
  readonly #byModel = new Map<string, Taken>();
  #isLooking = false;
  #isClosed = false;
  #nextMs = 0;

  constructor(hops: Hops, connection: HttpConnection) {
    this.#hops = hops;
    this.#connection = connection;
  }

  /** What is told from now on is of no worker. */
  close(): void {
    this.#isClosed = true;
  }

  /** @param model of the server, which did not say what the run took. */
  onAnswered(model: string, tookMs: number): void {
    const taken = this.#byModel.get(model) ?? { count: 0, ms: 0, last: null };
    this.#byModel.set(model, taken);
    taken.count++;
    taken.ms += tookMs;
  }

  /**
   * Asks the server, if it is time to and batches have come. Nothing comes of one that tells
   * nothing.
   * @param everyMs time between two looks.
   */
  async look({ name, pool }: RemoteMember, nowMs: number, everyMs: number): Promise<void> {
    if (this.#isLooking || nowMs < this.#nextMs || this.#byModel.size === 0) return;
    this.#isLooking = true;
    this.#nextMs = nowMs + everyMs;
    try {
      for (const [model, taken] of this.#byModel) {
        const now = computedOf(await this.#connection.statisticsOf(model));
        if (this.#isClosed) return;
        if (now === null) continue;
        const hopMs = hopOf(taken, now);
        for (let left = hopMs === null ? 0 : taken.count; left > 0; left--) {
          this.#hops.note(name, pool, hopMs ?? 0);
        }
        Object.assign(taken, { count: 0, ms: 0, last: now });
      }
    } catch {
      // It says another time.
    } finally {
      this.#isLooking = false;
    }
  }
}

/**
 * The mean since the last look, ms; null where that is not to be had, as where the server has run
 * requests of others as well. A batch that is on its way may be counted on one side alone.
 */
export function hopOf({ count, ms, last }: Readonly<Taken>, now: Computed): number | null {
  if (last === null || count === 0) return null;
  const ran = now.count - last.count;
  if (ran <= 0 || Math.abs(ran - count) > 1) return null;
  return Math.max(0, ms / count - (now.ms - last.ms) / ran);
}

/** Of the answer of `GET /v2/models/NAME/stats`; null where that says no such thing. */
export function computedOf(told: Fields | null): Computed | null {
  const all = told?.["model_stats"];
  if (!Array.isArray(all) || all.length === 0) return null;
  // Several versions are one after the other.
  const sums = { count: 0, ms: 0 };
  for (const one of all) {
    const stats = fieldsOf(fieldsOf(one, "model_stats")["inference_stats"] ?? {}, "statistics");
    for (const kind of WORK) {
      const { count, ns } = fieldsOf(stats[kind] ?? {}, kind);
      // Some servers write numbers of 64 bits as texts.
      if (kind === "compute_infer") sums.count += Number(count ?? 0);
      sums.ms += Number(ns ?? 0) / 1e6;
    }
  }
  return Number.isFinite(sums.count) && Number.isFinite(sums.ms) ? sums : null;
}
