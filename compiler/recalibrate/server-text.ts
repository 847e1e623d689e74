/** Reads metrics or feedback of a server, by URL or from a saved file. */
import { askHttp, causeOf } from "stratagem-runtime/internal/base/http-client";
import { InputError } from "../spec/document/input-error.ts";
import { decodeUtf8, MEBIBYTE, readBytes } from "../spec/document/source.ts";

const MAX_BYTES = 64 * MEBIBYTE;
const TIMEOUT_MS = 30_000;
const LIMITS = { maxBytes: MAX_BYTES, maxRedirects: 5 };

export interface ServerText {
  readonly text: string;
  /**
   * Time of the response by the server's clock, ms since 1970; null for a file, which does not
   * state it.
   */
  readonly atMs: number | null;
}

/**
 * @param path requested if a URL has none, such as `/metrics`.
 * @throws InputError INPUT_UNREADABLE, or the reason of the signal.
 */
export async function readServerText(
  place: string,
  path: string,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<ServerText> {
  if (!/^https?:\/\//.test(place)) return fileText(place);
  if (!URL.canParse(place)) throw unreadable(place, "no URL");
  const url = new URL(place);
  if (url.pathname === "/") url.pathname = path;
  try {
    const answer = await askHttp(url, { ...LIMITS, timeoutMs, signal });
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const date = Date.parse(answer.headers.date ?? "");
    return { text: answer.bytes.toString(), atMs: Number.isNaN(date) ? null : date };
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(String(url), causeOf(error));
  }
}

function fileText(path: string): ServerText {
  const read = readBytes(path, MAX_BYTES);
  if (!read.ok) throw unreadable(path, read.reason);
  return { text: decodeUtf8(read.bytes, path), atMs: null };
}

function unreadable(place: string, reason: string): InputError {
  const expected = "expected a file, or a server that answers";
  return new InputError("INPUT_UNREADABLE", `${place}: ${expected}, got: ${reason}`);
}
