/** Writes lines to a file or to stderr and never blocks on a slow reader. */
import type { MetricLine } from "../../base/exposition.ts";
import { logRecordLines } from "../../base/metric-families.ts";
import type { Notice } from "../../base/notice.ts";
import { LineWriter, type WriteBytes } from "./line-writer.ts";

/** Bytes that wait to be written; lines beyond it are dropped. */
const MAX_WAITING_BYTES = 4 * 2 ** 20;
/** Bytes of one write. */
const CHUNK_BYTES = 1 << 16;
/** Time limit for `close` while the reader is slow. */
const CLOSE_MS = 1000;
/** Time without a failure after which lines count as written again, so that notices are few. */
const MENDED_MS = 10_000;

/** Lines that the reader of a log was too slow for. @param log what it is, such as "server". */
export function droppedLines(
  log: string,
  { droppedCount }: { readonly droppedCount: number },
): MetricLine[] {
  return logRecordLines(log, [["lost", droppedCount]]);
}

/** How failures to write are reported. */
export interface SinkReports {
  /** Name in messages, such as "access log app.log". */
  readonly name: string;
  readonly onNotice: Notice;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /** Writes bytes; by default the system does. */
  readonly write?: WriteBytes;
}

/** Writes lines in order; a line is written completely or, if the buffer is full, dropped. */
export class LineSink {
  readonly #writer: LineWriter;
  readonly #reports: SinkReports | undefined;
  #lines: string[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #droppedCount = 0;
  #isScheduled = false;
  #isStale = false;
  #isClosed = false;
  /** Time of the last failure; NaN while lines are written. */
  #failedMs = Number.NaN;
  #droppedBefore = 0;
  #onEmpty: (() => void) | undefined;

  /**
   * @param path of a file to append to. Default: stderr.
   * @param reports of failures. Default: they are only counted.
   * @throws system error if the file cannot be opened.
   */
  constructor(path?: string, reports?: SinkReports) {
    this.#writer = new LineWriter(path ?? 2, reports?.write);
    this.#reports = reports;
  }

  /** Lines that found no room, or could not be written. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** @param line without its end. */
  write(line: string): void {
    // A UTF-16 unit takes at most three bytes, and nearly always one.
    if (this.#waitingBytes + line.length > MAX_WAITING_BYTES) {
      this.#droppedCount++;
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += line.length + 1;
    this.#schedule();
  }

  /** Opens the file again after a rotation; waiting lines still go to the old file. */
  reopen(): void {
    this.#isStale = true;
    this.#schedule();
  }

  /** Resolves when all lines are written, or after a second. */
  async close(): Promise<void> {
    if (this.#lines.length > 0 || this.#isWriting) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, CLOSE_MS);
        this.#onEmpty = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isClosed = true;
    this.#writer.close();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Lines of a turn of the loop are written together.
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#isClosed) return;
    if (this.#lines.length === 0) {
      this.#isScheduled = false;
      if (this.#isStale) this.#writer.reopen();
      this.#isStale = false;
      this.#onEmpty?.();
      return;
    }
    this.#isWriting = true;
    this.#writer.write(`${this.#takeLines().join("\n")}\n`, (error, lost) => {
      this.#isWriting = false;
      this.#droppedCount += lost;
      this.#report(error, lost);
      this.#next();
    });
  }

  #takeLines(): string[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#lines.length && (count === 0 || bytes < CHUNK_BYTES)) {
      bytes += (this.#lines[count] ?? "").length + 1;
      count++;
    }
    this.#waitingBytes -= bytes;
    return this.#lines.splice(0, count);
  }

  /** Notifies when writing begins to fail, because the disk is full or the reader has gone. */
  #report(error: NodeJS.ErrnoException | null, lost: number): void {
    if (this.#reports === undefined) return;
    const { name, onNotice, nowMs } = this.#reports;
    const isFailing = !Number.isNaN(this.#failedMs);
    if (error !== null) {
      this.#failedMs = nowMs();
      if (isFailing) return;
      this.#droppedBefore = this.#droppedCount - lost;
      onNotice(`${name}: lines cannot be written: ${error.code ?? error.message}`, "warn");
    } else if (isFailing && nowMs() - this.#failedMs >= MENDED_MS) {
      this.#failedMs = Number.NaN;
      const count = this.#droppedCount - this.#droppedBefore;
      onNotice(`${name}: lines are written again; ${count} were lost`);
    }
  }
}
