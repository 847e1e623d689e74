/**
 * Request bodies: read into one buffer within a size and a time, then decompressed within the same
 * size.
 */
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, inflate, inflateRaw } from "node:zlib";
import { HttpError } from "./http-error.ts";
import { Pace, type PaceLimits } from "./pace.ts";

export interface BodyLimits extends PaceLimits {
  readonly maxBodyBytes: number;
}

const gunzipAsync = promisify(gunzip);
const inflateAsync = promisify(inflate);
const inflateRawAsync = promisify(inflateRaw);

/** @throws HttpError 400, 408, 413 or 415. */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (!["identity", "gzip", "deflate"].includes(encoding)) {
    const allowed = "expected identity, gzip or deflate";
    throw new HttpError(415, `Content-Encoding: ${allowed}, got ${JSON.stringify(encoding)}`);
  }
  const body = await readBytes(request, limits);
  return encoding === "identity" ? body : decompressed(body, encoding, limits.maxBodyBytes);
}

function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxBodyBytes } = limits;
  const declared = request.headers["content-length"];
  const length = declared === undefined ? undefined : Number(declared);
  if (length !== undefined && length > maxBodyBytes) {
    return Promise.reject(tooLarge(maxBodyBytes));
  }
  return new Promise((resolve, reject) => {
    const sink = new ByteSink(length);
    const onSlow = (message: string) => {
      stop();
      reject(new HttpError(408, message));
    };
    const pace = new Pace(limits, () => sink.length, onSlow);
    const onData = (chunk: Buffer) => {
      if (sink.length + chunk.length > maxBodyBytes) {
        stop();
        reject(tooLarge(maxBodyBytes));
      } else sink.push(chunk);
    };
    const onEnd = () => {
      stop();
      resolve(sink.finish());
    };
    const onClose = () => {
      stop();
      reject(new HttpError(400, "the connection ended before the body did"));
    };
    function stop(): void {
      pace.stop();
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      request.pause();
    }
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

/**
 * One chunk that is the whole body is taken as it is; of several, each is copied once when the
 * length is known.
 */
class ByteSink {
  #length = 0;
  #buffer: Buffer | undefined;
  readonly #chunks: Buffer[] = [];
  readonly #expected: number | undefined;

  constructor(expected: number | undefined) {
    this.#expected = expected;
  }

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    const start = this.#length;
    this.#length += chunk.length;
    if (this.#expected === undefined || this.#expected === chunk.length) {
      this.#chunks.push(chunk);
      return;
    }
    this.#buffer ??= Buffer.allocUnsafeSlow(this.#expected);
    chunk.copy(this.#buffer, start);
  }

  finish(): Buffer {
    if (this.#buffer !== undefined) return this.#buffer.subarray(0, this.#length);
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
  }
}

/** The limit is what keeps a small body from becoming a large one. */
async function decompressed(
  body: Buffer,
  encoding: string,
  maxOutputLength: number,
): Promise<Buffer> {
  try {
    if (encoding === "gzip") return await gunzipAsync(body, { maxOutputLength });
    // "deflate" is the zlib format, but some clients send it without its header, whose method is 8.
    const hasHeader = ((body[0] ?? 0) & 0x0f) === 8;
    return await (hasHeader ? inflateAsync : inflateRawAsync)(body, { maxOutputLength });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxOutputLength);
    const reason = error instanceof Error ? error.message : String(error);
    throw new HttpError(400, `request: expected a body compressed with ${encoding} (${reason})`);
  }
}

function tooLarge(maxBodyBytes: number): HttpError {
  return new HttpError(413, `request: expected a body of at most ${maxBodyBytes} bytes`);
}
