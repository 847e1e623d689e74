/** Counts what became of the requests of one phase. */
import { type LoadPhase, type PhaseReport, type Quantiles, WINDOW_MS } from "./report.ts";

export class PhaseTally {
  readonly #phase: LoadPhase;
  readonly #startMs: number;
  readonly #sloMs: number;
  readonly #byStatus = new Map<string, number>();
  readonly #byReason = new Map<string, number>();
  readonly #accepted = new Samples();
  readonly #shed = new Samples();
  readonly #lag = new Samples();
  readonly #sentByWindow: number[];
  readonly #badByWindow: number[];
  #due = 0;
  #sent = 0;
  #good = 0;

  /** @param startMs of the phase, on the clock of all times here. */
  constructor(phase: LoadPhase, startMs: number, sloMs: number) {
    this.#phase = phase;
    this.#startMs = startMs;
    this.#sloMs = sloMs;
    const windows = Math.max(1, Math.ceil((1000 * phase.seconds) / WINDOW_MS));
    this.#sentByWindow = new Array<number>(windows).fill(0);
    this.#badByWindow = new Array<number>(windows).fill(0);
  }

  onDue(): void {
    this.#due++;
  }

  /** @returns the window it belongs to. */
  onSent(dueMs: number, sentMs: number): number {
    this.#sent++;
    this.#lag.add(sentMs - dueMs);
    const last = this.#sentByWindow.length - 1;
    const window = Math.min(last, Math.floor((sentMs - this.#startMs) / WINDOW_MS));
    this.#sentByWindow[window] = (this.#sentByWindow[window] ?? 0) + 1;
    return window;
  }

  /** An answer came. */
  onAnswer(status: number, latencyMs: number, window: number): void {
    if (status === 200) this.#accepted.add(latencyMs);
    else if (status === 429 || status === 503) this.#shed.add(latencyMs);
    this.onFate(String(status), window, status === 200 && latencyMs <= this.#sloMs);
  }

  /** @param body of an answer that says no, as far as it has come. */
  onReason(status: number, body: string): void {
    const said = /"error":\s*"([^"\\]{1,50})/.exec(body)?.[1] ?? "no reason";
    const reason = `${status} ${said.replace(/\d+(\.\d+)?/g, "N")}`;
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + 1);
  }

  /** A request is over. */
  onFate(fate: string, window: number, isGood: boolean): void {
    this.#byStatus.set(fate, (this.#byStatus.get(fate) ?? 0) + 1);
    if (isGood) this.#good++;
    else this.#badByWindow[window] = (this.#badByWindow[window] ?? 0) + 1;
  }

  report(): PhaseReport {
    return {
      ...this.#phase,
      due: this.#due,
      sent: this.#sent,
      byStatus: Object.fromEntries(this.#byStatus),
      byReason: Object.fromEntries(this.#byReason),
      good: this.#good,
      acceptedMs: this.#accepted.quantiles(),
      shedMs: this.#shed.quantiles(),
      lagMs: this.#lag.quantiles(),
      sentByWindow: this.#sentByWindow,
      badByWindow: this.#badByWindow,
    };
  }
}

/** Samples in memory that grows by doubling. */
class Samples {
  #values = new Float64Array(1 << 12);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count++] = value;
  }

  quantiles(): Quantiles {
    const sorted = this.#values.slice(0, this.#count).sort();
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}
