/** Notes when requests came, in few bytes, for whoever plans or simulates with real traffic. */
import type { ArrivalsLine } from "./log-lines.ts";

interface Noted {
  readonly application: string;
  readonly model: string;
  readonly atUs: number[];
  readonly rows: number[];
}

/** Arrivals that are noted between two lines, of all models; more of them are only counted. */
const MAX_NOTED = 1 << 18;
/** Arrivals of one line. */
const PER_LINE = 1 << 15;

export class ArrivalNotes {
  readonly #byModel = new Map<string, Noted>();
  #count = 0;
  #lost = 0;

  /** Arrivals that found no room. */
  get lostCount(): number {
    return this.#lost;
  }

  /** @param epochMs when it came, since 1970. @param rows 0 of one that was not read. */
  note(application: string, model: string, epochMs: number, rows: number): void {
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
    noted.atUs.push(Math.round(epochMs * 1000));
    noted.rows.push(Math.max(1, rows));
    this.#count++;
  }

  /** Lines of what was noted since the last time, model by model. */
  take(): ArrivalsLine[] {
    const lines = [...this.#byModel.values()].flatMap(linesOf);
    this.#byModel.clear();
    this.#count = 0;
    return lines;
  }
}

function linesOf({ application, model, atUs, rows }: Noted): ArrivalsLine[] {
  const order = [...atUs.keys()].sort((one, other) => (atUs[one] ?? 0) - (atUs[other] ?? 0));
  const count = Math.ceil(order.length / PER_LINE);
  return Array.from({ length: count }, (_, part) => {
    const own = order.slice(part * PER_LINE, (part + 1) * PER_LINE);
    return arrivalsLine(
      { application, model },
      own.map((index) => atUs[index] ?? 0),
      own.map((index) => rows[index] ?? 1),
    );
  });
}

/**
 * @param atUs microseconds since 1970, at least one, ascending.
 * @param rows of each.
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
