/**
 * Estimates the overhead of a server that does not state the time of each run, from its statistics:
 * the mean time of batches minus that of the server's work.
 */
import { type Fields, fieldsOf } from "../exec/tensors/v2-codec.ts";
import type { Hops } from "./hops.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { RemoteMember } from "./remote-workers.ts";

/** Statistics that count as work on a request; waiting does not. */
const WORK = ["compute_input", "compute_infer", "compute_output"];

/** Totals of a model since its server started. */
interface Computed {
  readonly count: number;
  readonly ms: number;
}

interface Taken {
  count: number;
  ms: number;
  /** Totals at the last request; null before the first. */
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

  /** Stops reporting. */
  close(): void {
    this.#isClosed = true;
  }

  /** @param model answered without the time of its run. */
  onAnswered(model: string, tookMs: number): void {
    const taken = this.#byModel.get(model) ?? { count: 0, ms: 0, last: null };
    this.#byModel.set(model, taken);
    taken.count++;
    taken.ms += tookMs;
  }

  /**
   * Requests statistics if the interval has passed and batches were answered; a server without
   * statistics is ignored.
   * @param everyMs interval.
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
      // Retried at the next interval.
    } finally {
      this.#isLooking = false;
    }
  }
}

/**
 * Mean overhead since the last request, ms; null if unknown, for example because others use the
 * server too. A batch in flight may be counted on one side only.
 */
export function hopOf({ count, ms, last }: Readonly<Taken>, now: Computed): number | null {
  if (last === null || count === 0) return null;
  const ran = now.count - last.count;
  if (ran <= 0 || Math.abs(ran - count) > 1) return null;
  return Math.max(0, ms / count - (now.ms - last.ms) / ran);
}

/** Reads the response of `GET /v2/models/NAME/stats`; null if it has no statistics. */
export function computedOf(stats: Fields | null): Computed | null {
  const all = stats?.["model_stats"];
  if (!Array.isArray(all) || all.length === 0) return null;
  // Versions of a model are listed separately.
  const sums = { count: 0, ms: 0 };
  for (const one of all) {
    const inference = fieldsOf(fieldsOf(one, "model_stats")["inference_stats"] ?? {}, "statistics");
    for (const kind of WORK) {
      const { count, ns } = fieldsOf(inference[kind] ?? {}, kind);
      // Some servers write 64-bit numbers as strings.
      if (kind === "compute_infer") sums.count += Number(count ?? 0);
      sums.ms += Number(ns ?? 0) / 1e6;
    }
  }
  return Number.isFinite(sums.count) && Number.isFinite(sums.ms) ? sums : null;
}
