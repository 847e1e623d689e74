/** Records arrival times compactly, for planning and simulation with real traffic. */
import type { ArrivalsLine } from "./log-lines.ts";

interface Noted {
  readonly application: string;
  readonly model: string;
  readonly atUs: number[];
  readonly rows: number[];
}

/** Limit of arrivals, over all models, that are kept between two writes; more are only counted. */
const MAX_NOTED = 1 << 18;
const PER_LINE = 1 << 15;

export class ArrivalNotes {
  readonly #byModel = new Map<string, Noted>();
  #count = 0;
  #lost = 0;

  /** Arrivals that were not recorded because the limit was reached. */
  get lostCount(): number {
    return this.#lost;
  }

  /** @param atMs arrival by the monotonic clock. @param rows 0 for a request that was not read. */
  note(application: string, model: string, atMs: number, rows: number): void {
    if (this.#count >= MAX_NOTED) {
      this.#lost++;
      return;
    }
    const key = `${application}\n${model}`;
    let noted = this.#byModel.get(key);
    if (noted === undefined) {
      noted = { application, model, atUs: [], rows: [] };
      this.#byModel.set(key, noted);
    }
    noted.atUs.push(Math.round(atMs * 1000));
    noted.rows.push(Math.max(1, rows));
    this.#count++;
  }

  /**
   * Returns lines of the arrivals since the last call, grouped by model.
   * @param epochOffsetMs is added to their times for milliseconds since 1970.
   */
  take(epochOffsetMs: number): ArrivalsLine[] {
    const offsetUs = Math.round(epochOffsetMs * 1000);
    const lines = [...this.#byModel.values()].flatMap((noted) => linesOf(noted, offsetUs));
    this.#byModel.clear();
    this.#count = 0;
    return lines;
  }
}

function linesOf({ application, model, atUs, rows }: Noted, offsetUs: number): ArrivalsLine[] {
  const order = [...atUs.keys()].sort((one, other) => (atUs[one] ?? 0) - (atUs[other] ?? 0));
  const count = Math.ceil(order.length / PER_LINE);
  return Array.from({ length: count }, (_, part) => {
    const own = order.slice(part * PER_LINE, (part + 1) * PER_LINE);
    return arrivalsLine(
      { application, model },
      own.map((index) => offsetUs + (atUs[index] ?? 0)),
      own.map((index) => rows[index] ?? 1),
    );
  });
}

/**
 * @param atUs microseconds since 1970, at least one, ascending.
 * @param rows per arrival.
 */
export function arrivalsLine(
  { application, model }: Pick<ArrivalsLine, "application" | "model">,
  atUs: readonly number[],
  rows: readonly number[],
): ArrivalsLine {
  const [startUs = 0] = atUs;
  const gapsUs = atUs.slice(1).map((us, index) => us - (atUs[index] ?? us));
  const arrivals = { kind: "arrivals", application, model, startUs, gapsUs } as const;
  return rows.every((count) => count === 1) ? arrivals : { ...arrivals, rows };
}
