/** Writes lines to a file or to stderr and never blocks on a slow reader. */
import { close, constants, fstatSync, openSync, write } from "node:fs";
import type { MetricLine } from "../../base/exposition.ts";
import { logRecordLines } from "../../base/metric-families.ts";

/** Bytes that wait to be written; lines beyond it are dropped. */
const MAX_WAITING_BYTES = 4 * 2 ** 20;
/** Bytes of one write. */
const CHUNK_BYTES = 1 << 16;
/** A reader that is behind is tried again after this time. */
const RETRY_MS = 20;
/** Time limit for `close` while the reader is slow. */
const CLOSE_MS = 1000;

const STDERR = 2;
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;

/** Lines that the reader of a log was too slow for. @param log what it is, such as "server". */
export function droppedLines(
  log: string,
  { droppedCount }: { readonly droppedCount: number },
): MetricLine[] {
  return logRecordLines(log, [["lost", droppedCount]]);
}

/** Writes lines in order; a line is written completely or, if the buffer is full, dropped. */
export class LineSink {
  readonly #path: string | undefined;
  #fd: number;
  #lines: string[] = [];
  #waitingBytes = 0;
  /** Unwritten rest of the current write. */
  #chunk: Buffer | undefined;
  #chunkLines = 0;
  #droppedCount = 0;
  #isScheduled = false;
  #isStale = false;
  #onEmpty: (() => void) | undefined;

  /**
   * @param path of a file to append to. Default: stderr.
   * @throws system error if the file cannot be opened.
   */
  constructor(path?: string) {
    this.#path = path;
    this.#fd = path === undefined ? stderrDescriptor() : openToAppend(path);
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
    if (this.#path === undefined) return;
    this.#isStale = true;
    this.#schedule();
  }

  /** Resolves when all lines are written, or after a second. */
  async close(): Promise<void> {
    if (this.#lines.length > 0 || this.#chunk !== undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, CLOSE_MS);
        this.#onEmpty = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const fd = this.#fd;
    this.#fd = -1;
    if (fd > STDERR) close(fd, () => {});
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Lines of a turn of the loop are written together.
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#fd < 0) return;
    if (this.#lines.length === 0) {
      this.#isScheduled = false;
      if (this.#isStale) this.#openAgain();
      this.#onEmpty?.();
      return;
    }
    const taken = this.#takeLines();
    this.#chunkLines = taken.length;
    this.#chunk = Buffer.from(`${taken.join("\n")}\n`);
    this.#writeChunk();
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

  #writeChunk(): void {
    const chunk = this.#chunk;
    if (chunk === undefined || this.#fd < 0) return;
    write(this.#fd, chunk, 0, chunk.length, null, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => this.#writeChunk(), RETRY_MS).unref();
        return;
      }
      // The reader has gone, or the disk is full: the counter is the only place to report it.
      if (error !== null) this.#droppedCount += this.#chunkLines;
      else if (written < chunk.length) {
        this.#chunk = chunk.subarray(written);
        this.#writeChunk();
        return;
      }
      this.#chunk = undefined;
      this.#next();
    });
  }

  #openAgain(): void {
    this.#isStale = false;
    if (this.#path === undefined) return;
    try {
      const fd = openToAppend(this.#path);
      close(this.#fd, () => {});
      this.#fd = fd;
    } catch {
      // Keeps writing to the old file.
    }
  }
}

function openToAppend(path: string): number {
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
}

/**
 * Returns a descriptor for stderr that does not block the event loop.
 * A pipe or terminal is opened again, so that non-blocking mode is not shared with other processes
 * that have it. A file is used as it is, since workers write to it too. A socket cannot be opened;
 * a blocking write to it occupies a thread, and never the event loop.
 */
function stderrDescriptor(): number {
  try {
    const found = fstatSync(STDERR);
    if (!found.isFIFO() && !found.isCharacterDevice()) return STDERR;
    return openSync("/dev/stderr", O_WRONLY | O_APPEND | O_NONBLOCK);
  } catch {
    return STDERR;
  }
}
