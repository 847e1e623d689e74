/** Decompresses bodies as they arrive, on zlib's threads. */
import { createGunzip, createInflate, createInflateRaw, type Gunzip } from "node:zlib";

type Compression = "gzip" | "deflate";

export interface InflaterListener {
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
  /** Called for invalid data. */
  readonly onError: (reason: string) => void;
}

export interface Inflater {
  /** @returns whether more can be written at once; if not, `onDrain` is called when it can. */
  write(chunk: Buffer, onDrain: () => void): boolean;
  end(): void;
  /** Ends all callbacks. */
  stop(): void;
}

/** Maximum size of a piece of output. */
const CHUNK_BYTES = 65_536;
/** Memory of one beside what comes out: a piece of output, zlib's window and its state. */
export const INFLATER_BYTES = CHUNK_BYTES + 49_152;

export function isCompressed(encoding: string): encoding is Compression {
  return encoding === "gzip" || encoding === "deflate";
}

/** @param first the first bytes that will be written. */
export function inflaterOf(
  compression: Compression,
  first: Buffer,
  { onData, onEnd, onError }: InflaterListener,
): Inflater {
  const stream = streamOf(compression, first);
  let isOver = false;
  stream.on("data", (chunk: Buffer) => {
    if (!isOver) onData(chunk);
  });
  stream.on("end", () => {
    if (!isOver) onEnd();
  });
  stream.on("error", ({ message }) => {
    if (!isOver) onError(message);
  });
  return {
    write(chunk, onDrain) {
      const takesMore = stream.write(chunk);
      if (!takesMore) {
        stream.once("drain", () => {
          if (!isOver) onDrain();
        });
      }
      return takesMore;
    },
    end: () => stream.end(),
    stop() {
      isOver = true;
      stream.destroy();
    },
  };
}

function streamOf(compression: Compression, first: Buffer): Gunzip {
  const options = { chunkSize: CHUNK_BYTES };
  if (compression === "gzip") return createGunzip(options);
  // "deflate" means the zlib format, but some clients omit its header, whose method is 8.
  const hasHeader = ((first[0] ?? 0) & 0x0f) === 8;
  return hasHeader ? createInflate(options) : createInflateRaw(options);
}
