/** Fetches tensors from the worker that keeps them, as a front end states it. */
import { askHttp, causeOf } from "../base/http-client.ts";
import { HttpError } from "../server/connections/http-error.ts";
import { binaryOf } from "../server/protocol/infer-request.ts";
import { BadRequest } from "../server/tensors/bad-request.ts";
import type { ModelTensor } from "../server/tensors/signature.ts";
import type { KeptValues } from "./kept-values.ts";

/** Path of a value, followed by its key. */
export const VALUES = "/v2/stratagem/values/";
const KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FETCH_MS = 10_000;

/** Other workers, whose kept tensors this one may fetch. */
export interface Peers {
  /** @param origin such as `http://10.0.0.7:8000`. */
  includes(origin: string): boolean;
  /** Returns the `authorization` that this worker shows to them; null for none. */
  readonly readToken: () => Promise<string | null>;
}

/** An input kept by another worker, or by this one since an earlier batch. */
export interface ValueReference {
  readonly key: string;
  /** URL of the worker that keeps it; null for this one. */
  readonly source: string | null;
  readonly tensor: ModelTensor;
  readonly shape: readonly number[];
  /** Path of the input in its request. */
  readonly path: string;
}

/**
 * @param parameters parameters of an input. @returns undefined if it is not a kept value.
 * @throws BadRequest
 */
export function valueReference(
  parameters: Readonly<Record<string, unknown>>,
  path: string,
): Pick<ValueReference, "key" | "source"> | undefined {
  const { stratagem_value: key, stratagem_source: source } = parameters;
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key)) {
    throw new BadRequest(`${path}.parameters.stratagem_value`, "expected a key", key);
  }
  return { key, source: source === undefined ? null : originOf(source, path) };
}

/** @throws BadRequest for anything but the address of a worker. */
function originOf(source: unknown, path: string): string {
  const url = typeof source === "string" && URL.canParse(source) ? new URL(source) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url !== null && isHttp && url.origin === String(source).replace(/\/$/, "")) return url.origin;
  const at = `${path}.parameters.stratagem_source`;
  throw new BadRequest(at, "expected a worker such as http://10.0.0.7:8000", source);
}

/**
 * Returns the bytes of a value, of this worker or of one of its peers. Nothing of the request but
 * the key is passed on, and no redirect is followed.
 * @param peers null for none.
 * @throws HttpError 403 for another source, 424 if the value is unavailable. @throws BadRequest if
 * its size does not fit.
 */
export async function takenValue(
  reference: ValueReference,
  kept: KeptValues,
  peers: Peers | null,
  timeoutMs = FETCH_MS,
): Promise<Uint8Array> {
  const { key, source, tensor, shape, path } = reference;
  const own = kept.get(key);
  if (own === undefined && source === null) {
    throw gone(path, "this worker", "it is no longer kept");
  }
  const bytes = own ?? (await fetched(reference, kept, peers, timeoutMs));
  return binaryOf(bytes, tensor, shape, `${path}.parameters.stratagem_value`);
}

async function fetched(
  { key, source, path }: ValueReference,
  { maxBytes }: KeptValues,
  peers: Peers | null,
  timeoutMs: number,
): Promise<Uint8Array> {
  if (peers === null || !peers.includes(`${source}`)) {
    const at = `${path}.parameters.stratagem_source`;
    throw new HttpError(403, `${at}: expected one of this worker's --peers, got ${source}`);
  }
  try {
    const authorization = await peers.readToken();
    const { status, bytes } = await askHttp(`${source}${VALUES}${key}`, {
      ...{ timeoutMs, maxBytes },
      ...(authorization === null ? {} : { headers: { authorization } }),
    });
    if (status === 200) return new Uint8Array(bytes);
    const help = status === 401 || status === 403 ? "; --token workers=FILE is shown to it" : "";
    throw new Error(`it answered ${status}${help}`);
  } catch (error) {
    throw gone(path, `${source}`, causeOf(error));
  }
}

function gone(path: string, where: string, reason: string): HttpError {
  return new HttpError(424, `${path}: expected a value that ${where} keeps, got: ${reason}`);
}
