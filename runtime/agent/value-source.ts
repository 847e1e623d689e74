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
 * Returns the bytes of a value.
 * @param authorization header of the front end, passed on to the other worker.
 * @throws HttpError 424 if it is unavailable. @throws BadRequest if its size does not fit.
 */
export async function takenValue(
  reference: ValueReference,
  kept: KeptValues,
  authorization: string | undefined,
): Promise<Uint8Array> {
  const { key, source, tensor, shape, path } = reference;
  const bytes = source === null ? kept.get(key) : await fetched(reference, kept, authorization);
  if (bytes === undefined) throw gone(path, "this worker", "it is no longer kept");
  return binaryOf(bytes, tensor, shape, `${path}.parameters.stratagem_value`);
}

async function fetched(
  { key, source, path }: ValueReference,
  { maxBytes }: KeptValues,
  authorization: string | undefined,
): Promise<Uint8Array> {
  try {
    const { status, bytes } = await askHttp(`${source}${VALUES}${key}`, {
      timeoutMs: FETCH_MS,
      maxBytes,
      ...(authorization === undefined ? {} : { headers: { authorization } }),
    });
    if (status === 200) return new Uint8Array(bytes);
    throw new Error(`it answered ${status}`);
  } catch (error) {
    throw gone(path, `${source}`, causeOf(error));
  }
}

function gone(path: string, where: string, reason: string): HttpError {
  return new HttpError(424, `${path}: expected a value that ${where} keeps, got: ${reason}`);
}
