/** What a server says of itself: asked by its URL, or as it was saved. */
import { InputError } from "../spec/input-error.ts";
import { decodeUtf8, MEBIBYTE, readBytes } from "../spec/source.ts";

const MAX_BYTES = 64 * MEBIBYTE;
const TIMEOUT_MS = 30_000;

export interface ToldText {
  readonly text: string;
  /** When it was told, since 1970, by the server's clock; null of a file, which does not say. */
  readonly atMs: number | null;
}

/**
 * @param path that is asked for where a URL has none, such as `/metrics`.
 * @throws InputError INPUT_UNREADABLE, or the reason of the signal.
 */
export async function toldText(
  place: string,
  path: string,
  signal: AbortSignal,
): Promise<ToldText> {
  if (!/^https?:\/\//.test(place)) return fileText(place);
  if (!URL.canParse(place)) throw unreadable(place, "no URL");
  const url = new URL(place);
  if (url.pathname === "/") url.pathname = path;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { signal: within });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const date = Date.parse(response.headers.get("date") ?? "");
    return { text: await textOf(response), atMs: Number.isNaN(date) ? null : date };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error : new Error(String(error));
    const { cause } = reason;
    throw unreadable(String(url), cause instanceof Error ? cause.message : reason.message);
  }
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / MEBIBYTE} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function fileText(path: string): ToldText {
  const read = readBytes(path, MAX_BYTES);
  if (!read.ok) throw unreadable(path, read.reason);
  return { text: decodeUtf8(read.bytes, path), atMs: null };
}

function unreadable(place: string, reason: string): InputError {
  const expected = "expected a file, or a server that answers";
  return new InputError("INPUT_UNREADABLE", `${place}: ${expected}, got: ${reason}`);
}
