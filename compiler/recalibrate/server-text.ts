/** Reads documents of a server, by URL or from a saved file. */
import { askHttp, causeOf } from "stratagem-runtime/internal/base/http-client";
import type * as z from "zod";
import { InputError } from "../spec/document/input-error.ts";
import { decodeUtf8, MEBIBYTE, readBytes } from "../spec/document/source.ts";

const MAX_BYTES = 64 * MEBIBYTE;
const TIMEOUT_MS = 30_000;
const LIMITS = { maxBytes: MAX_BYTES, maxRedirects: 5 };

/** Response of a server, or a saved one. */
export interface ServerText {
  /** URL or file, for messages. */
  readonly place: string;
  readonly text: string;
}

/**
 * @param path requested if a URL has none, such as `/v2/stratagem/times`.
 * @throws InputError INPUT_UNREADABLE, or the reason of the signal.
 */
export async function readServerText(
  place: string,
  path: string,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<ServerText> {
  if (!/^https?:\/\//.test(place)) return { place, text: fileText(place) };
  if (!URL.canParse(place)) throw unreadable(place, "no URL");
  const url = new URL(place);
  if (url.pathname === "/") url.pathname = path;
  try {
    const answer = await askHttp(url, { ...LIMITS, timeoutMs, signal });
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    return { place, text: answer.bytes.toString() };
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(String(url), causeOf(error));
  }
}

/** @param path that has such documents. @throws InputError for another document. */
export function documentOf<T>({ place, text }: ServerText, schema: z.ZodType<T>, path: string): T {
  const expected = `${place}: expected the document of GET ${path}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError("INPUT_SYNTAX", `${expected}, got text that is not JSON`);
  }
  const found = schema.safeParse(value);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new InputError("INPUT_INVALID_VALUE", `${expected}; ${where}: ${issue?.message}`);
}

function fileText(path: string): string {
  const read = readBytes(path, MAX_BYTES);
  if (!read.ok) throw unreadable(path, read.reason);
  return decodeUtf8(read.bytes, path);
}

function unreadable(place: string, reason: string): InputError {
  const expected = "expected a file, or a server that answers";
  return new InputError("INPUT_UNREADABLE", `${place}: ${expected}, got: ${reason}`);
}
