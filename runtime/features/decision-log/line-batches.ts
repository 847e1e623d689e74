/** Sends lines to a destination in batches, and keeps a bounded number while it is unreachable. */
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import type { Delivery, LogDestination } from "./log-destination.ts";
import { type LostLine, lineText } from "./log-lines.ts";

interface LineBatchesOptions {
  readonly destination: LogDestination;
  readonly onNotice: Notice;
  /** Limit of the characters that wait, by default 8 Mi; lines beyond it are lost. */
  readonly maxWaiting?: number;
  /** Waits; by default in real time. */
  readonly pause?: Wait;
}

const MAX_WAITING = 2 ** 23;
/** Characters of a batch, unless a single line has more. */
const BATCH = 2 ** 18;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** How long `close` waits for an unreachable destination. */
const CLOSE_MS = 2000;

interface WaitingLine {
  readonly text: string;
  /** Lines that were lost between the previous line and this one. */
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
  /** Lines lost after the last waiting line, and in refused batches before the first. */
  #lostBehind = 0;
  #lostAhead = 0;
  #isAway = false;

  constructor(options: LineBatchesOptions) {
    this.#options = options;
  }

  get writtenCount(): number {
    return this.#written;
  }

  /** Lines that were dropped because the queue was full, or refused. */
  get lostCount(): number {
    return this.#lost;
  }

  /** @returns false if the queue is full. @param line without a line end. */
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

  /** Sends the waiting lines; resolves once they are sent or the log is closed. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends the waiting lines, retries for two seconds, and counts the rest as lost. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), CLOSE_MS);
    await this.flush();
    clearTimeout(timer);
    if (this.#lines.length === 0) return;
    this.#lost += this.#lines.length;
    this.#lines = [];
    const { destination, onNotice } = this.#options;
    onNotice(`decision log ${destination.name}: ${this.#lost} lines were lost in total`, "warn");
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

  /** @returns whether the batch was accepted, possibly after retries. */
  async #deliver(text: string): Promise<boolean> {
    const { destination, pause = realWait } = this.#options;
    const { signal } = this.#closing;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      const delivery = await destination.send(text, signal);
      this.#notifyOnChange(delivery);
      if (delivery.kind !== "away") return delivery.kind === "taken";
      if (signal.aborted) return false;
      await pause(Math.min(delivery.waitMs ?? waitMs, LONGEST_WAIT_MS), signal);
    }
  }

  /** Notifies once when sending begins to fail, and once when it works again. */
  #notifyOnChange(delivery: Delivery): void {
    const { destination, onNotice } = this.#options;
    const isAway = delivery.kind !== "taken";
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    if (delivery.kind === "taken")
      onNotice(`decision log ${destination.name}: lines are written again`);
    else
      onNotice(
        `decision log ${destination.name}: lines cannot be written: ${delivery.reason}`,
        "warn",
      );
  }
}

/** Ends each line, and adds a line with the number of lines lost before it, if any. */
function textOf(lines: readonly WaitingLine[], lostAhead: number): string {
  const parts = lines.map(({ text, lostBefore }, index) => {
    const lost: LostLine = { kind: "lost", lines: lostBefore + (index === 0 ? lostAhead : 0) };
    return lost.lines === 0 ? `${text}\n` : `${lineText(lost)}\n${text}\n`;
  });
  return parts.join("");
}
