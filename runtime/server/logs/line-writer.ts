/** Writes lines to a descriptor without blocking, and ends a line that a full disk has cut. */
import {
  close,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  write as systemWrite,
} from "node:fs";

/** A reader that is behind is tried again after this time. */
const RETRY_MS = 20;
const STDERR = 2;
const NEWLINE = 0x0a;
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;

/** Called after a write. @param lost lines that were not written completely. */
type OnWritten = (error: NodeJS.ErrnoException | null, lost: number) => void;

/** The part of `fs.write` that is used. */
export type WriteBytes = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

export class LineWriter {
  readonly #path: string | undefined;
  readonly #write: WriteBytes;
  #fd: number;
  /** Whether the last line there has no end. */
  #isCut: boolean;

  /**
   * @param to a file to append to, or a standard descriptor. @param write default: the system's.
   * @throws system error if the file cannot be opened.
   */
  constructor(to: string | 1 | 2, write: WriteBytes = systemWrite) {
    this.#path = typeof to === "string" ? to : undefined;
    this.#write = write;
    this.#fd = typeof to === "string" ? openToAppend(to) : standardDescriptor(to);
    this.#isCut = typeof to === "string" && isCut(to);
  }

  /** Writes lines, each with its end; the next ones only after `onWritten`, unless it is closed. */
  write(lines: string, onWritten: OnWritten): void {
    const first = this.#isCut ? 1 : 0;
    const bytes = Buffer.from(first === 1 ? `\n${lines}` : lines);
    let at = 0;
    const proceed = () => {
      if (this.#fd < 0) return;
      this.#write(this.#fd, bytes, at, bytes.length - at, null, (error, written) => {
        if (error?.code === "EAGAIN") {
          setTimeout(proceed, RETRY_MS).unref();
          return;
        }
        if (error === null) at += written;
        if (error === null && at < bytes.length) proceed();
        else {
          if (at > 0) this.#isCut = bytes[at - 1] !== NEWLINE;
          onWritten(error, endsIn(bytes, Math.max(at, first)));
        }
      });
    };
    proceed();
  }

  /** Opens the file again, which may have been moved; keeps the old one if it cannot. */
  reopen(): void {
    if (this.#path === undefined) return;
    try {
      const fd = openToAppend(this.#path);
      close(this.#fd, () => {});
      this.#fd = fd;
      this.#isCut = isCut(this.#path);
    } catch {
      // Writes to the old file.
    }
  }

  close(): void {
    if (this.#fd > STDERR) close(this.#fd, () => {});
    this.#fd = -1;
  }
}

/** Number of line ends from an offset on. */
function endsIn(bytes: Buffer, from: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Whether the last line of a file has no end, such as after a crash while the disk was full. */
function isCut(path: string): boolean {
  try {
    const fd = openSync(path, O_NONBLOCK);
    try {
      const status = fstatSync(fd);
      if (!status.isFile() || status.size === 0) return false;
      const last = Buffer.alloc(1);
      readSync(fd, last, 0, 1, status.size - 1);
      return last[0] !== NEWLINE;
    } finally {
      closeSync(fd);
    }
  } catch {
    // A file that may be written and not read.
    return false;
  }
}

function openToAppend(path: string): number {
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
}

/**
 * Returns a descriptor for standard output or error that does not block the event loop.
 * A pipe or terminal is opened again, so that non-blocking mode is not shared with other processes
 * that have it. A file is used as it is, since workers write to it too. A socket cannot be opened;
 * a blocking write to it occupies a thread, and never the event loop.
 */
function standardDescriptor(fd: 1 | 2): number {
  try {
    const found = fstatSync(fd);
    if (!found.isFIFO() && !found.isCharacterDevice()) return fd;
    return openSync(fd === 1 ? "/dev/stdout" : "/dev/stderr", O_WRONLY | O_APPEND | O_NONBLOCK);
  } catch {
    return fd;
  }
}
