/** Lines that go to a place in batches, kept within bounds while it is away. */
import type { Notice } from "../../base/notice.ts";
import { type LostLine, lineText } from "./log-lines.ts";
import type { Delivery, LogPlace } from "./log-place.ts";

interface LineBatchesOptions {
  readonly place: LogPlace;
  readonly onNotice: Notice;
  /** Characters that wait at most; left out for 8 Mi. Lines beyond it are lost. */
  readonly maxWaiting?: number;
  /** Waits; left out for a timer that keeps no process alive. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const MAX_WAITING = 2 ** 23;
/** Characters of a batch, unless one line has more. */
const BATCH = 2 ** 18;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** How long `close` waits for a place that is away. */
const CLOSE_MS = 2000;

interface WaitingLine {
  readonly text: string;
  /** Lines that were lost between the one before and this one. */
  readonly lostBefore: number;
}

export class LineBatches {
  readonly #options: LineBatchesOptions;
  readonly #closing = new AbortController();
  #lines: WaitingLine[] = [];
  #waiting = 0;
  #sending: Promise<void> | undefined;
  #written = 0;
  #lost = 0;
  /** Lost after the last line that waits; and before the first, where a batch was refused. */
  #lostBehind = 0;
  #lostAhead = 0;
  #isAway = false;

  constructor(options: LineBatchesOptions) {
    this.#options = options;
  }

  /** Lines that their place has taken. */
  get writtenCount(): number {
    return this.#written;
  }

  /** Lines that found no room, or were refused. */
  get lostCount(): number {
    return this.#lost;
  }

  /** @returns whether there is room for it. @param line without its end. */
  write(line: string): boolean {
    const { maxWaiting = MAX_WAITING } = this.#options;
    if (this.#waiting + line.length > maxWaiting) {
      this.#lost++;
      this.#lostBehind++;
      return false;
    }
    this.#lines.push({ text: line, lostBefore: this.#lostBehind });
    this.#lostBehind = 0;
    this.#waiting += line.length + 1;
    return true;
  }

  /** Sends what waits; kept once it is sent, or the place is closed. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends what waits, tries a place that is away for two seconds, and counts the rest as lost. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), CLOSE_MS);
    await this.flush();
    clearTimeout(timer);
    if (this.#lines.length === 0) return;
    this.#lost += this.#lines.length;
    this.#lines = [];
    const { place, onNotice } = this.#options;
    onNotice(`decision log ${place.name}: ${this.#lost} lines were lost in all`, "warn");
  }

  async #sendAll(): Promise<void> {
    while (this.#lines.length > 0 && !this.#closing.signal.aborted) {
      const taken = this.#take();
      const isTaken = await this.#deliver(textOf(taken, this.#lostAhead));
      if (isTaken) {
        this.#written += taken.length;
        this.#lostAhead = 0;
      } else {
        this.#lost += taken.length;
        for (const { lostBefore } of taken) this.#lostAhead += 1 + lostBefore;
      }
    }
  }

  #take(): WaitingLine[] {
    let characters = 0;
    let count = 0;
    while (count < this.#lines.length && (count === 0 || characters < BATCH)) {
      characters += (this.#lines[count]?.text.length ?? 0) + 1;
      count++;
    }
    this.#waiting -= characters;
    return this.#lines.splice(0, count);
  }

  /** @returns whether it was taken, sooner or later. */
  async #deliver(text: string): Promise<boolean> {
    const { place, pause = paused } = this.#options;
    const { signal } = this.#closing;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      const delivery = await place.send(text, signal);
      this.#tell(delivery);
      if (delivery.kind !== "away") return delivery.kind === "taken";
      if (signal.aborted) return false;
      await pause(Math.min(delivery.waitMs ?? waitMs, LONGEST_WAIT_MS), signal);
    }
  }

  /** Once when it goes away or refuses, and once when it is back. */
  #tell(delivery: Delivery): void {
    const { place, onNotice } = this.#options;
    const isAway = delivery.kind !== "taken";
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    if (delivery.kind === "taken") onNotice(`decision log ${place.name}: it takes lines again`);
    else onNotice(`decision log ${place.name}: lines are not taken: ${delivery.reason}`, "warn");
  }
}

/** Each line with its end, and where lines are missing one that says how many. */
function textOf(lines: readonly WaitingLine[], lostAhead: number): string {
  const parts = lines.map(({ text, lostBefore }, index) => {
    const lost: LostLine = { kind: "lost", lines: lostBefore + (index === 0 ? lostAhead : 0) };
    return lost.lines === 0 ? `${text}\n` : `${lineText(lost)}\n${text}\n`;
  });
  return parts.join("");
}

function paused(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    signal.addEventListener("abort", end);
  });
}
