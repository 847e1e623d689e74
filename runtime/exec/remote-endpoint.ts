/**
 * A model of another server, by the Open Inference Protocol v2 over HTTP with binary tensors. Of
 * that server nothing is believed: what it says is checked where it is read.
 */
import type { TensorInfo } from "../bundle/schema.ts";
import { hostDatatypeOf, hostDtypeOf } from "./host-tensors.ts";
import { oneLine } from "./loaded-model.ts";

export interface RemoteTensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** A tensor as it is sent: of the model's own name, with all of its bytes. */
export interface SentTensor {
  readonly info: TensorInfo;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

export interface GivenTensor {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

const HEADER_LENGTH = "inference-header-content-length";
const MAX_TENSORS = 256;
const MAX_RANK = 16;
const MAX_SIZE = 2 ** 31;
/** Of what is not tensors: descriptions, and the words of an error. */
const MAX_TEXT_BYTES = 2 ** 20;
/** Of a batch, as much as goes to a worker. */
const MAX_ANSWER_BYTES = 2 ** 30;
const MAX_TOLD = 300;

type Fields = Readonly<Record<string, unknown>>;

export class RemoteEndpoint {
  /** Of the model, without a slash at its end. */
  readonly url: string;
  readonly #timeoutMs: number;

  /** @param url of the server. @param timeoutMs that an answer may take. */
  constructor(url: string, model: string, timeoutMs: number) {
    this.url = remoteUrl(url, model);
    this.#timeoutMs = timeoutMs;
  }

  /** What the model takes and gives. @throws Error naming the URL. */
  async tensors(): Promise<RemoteTensors> {
    const { bytes } = await this.#ask(this.url, {}, MAX_TEXT_BYTES);
    try {
      const told = fieldsOf(JSON.parse(new TextDecoder().decode(bytes)), "its description");
      return {
        inputs: infosOf(told["inputs"], "inputs"),
        outputs: infosOf(told["outputs"], "outputs"),
      };
    } catch (error) {
      throw new Error(`remote ${this.url}: ${oneLine(error)}`);
    }
  }

  /**
   * Runs a batch. @returns per output its tensor, whose shape says what the server says.
   * @throws Error naming the URL and what it said, or that it took too long.
   */
  async infer(
    inputs: readonly SentTensor[],
    outputs: readonly TensorInfo[],
  ): Promise<GivenTensor[]> {
    const json = Buffer.from(
      JSON.stringify({
        inputs: inputs.map(({ info, shape, bytes }) => ({
          name: info.name,
          datatype: protocolTypeOf(info.dtype),
          shape,
          parameters: { binary_data_size: bytes.length },
        })),
        outputs: outputs.map(({ name }) => ({ name, parameters: { binary_data: true } })),
      }),
    );
    const { headers, bytes } = await this.#ask(
      `${this.url}/infer`,
      {
        method: "POST",
        headers: {
          [HEADER_LENGTH]: String(json.length),
          "content-type": "application/octet-stream",
        },
        body: Buffer.concat([json, ...inputs.map((input) => input.bytes)]),
      },
      MAX_ANSWER_BYTES,
    );
    try {
      return outputsOf(bytes, headers.get(HEADER_LENGTH), outputs);
    } catch (error) {
      throw new Error(`remote ${this.url}/infer: ${oneLine(error)}`);
    }
  }

  async #ask(
    url: string,
    request: RequestInit,
    maxBytes: number,
  ): Promise<{ readonly headers: Headers; readonly bytes: Uint8Array }> {
    // Between batches nobody looks at connections: those that were closed meanwhile are seen first.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      const response = await fetch(url, { ...request, signal, redirect: "error" });
      const bytes = await bodyOf(response, maxBytes);
      if (response.ok) return { headers: response.headers, bytes };
      throw new RemoteRefusal(url, response.status, wordsOf(bytes));
    } catch (error) {
      if (error instanceof RemoteRefusal) throw error;
      const isLate = error instanceof Error && error.name === "TimeoutError";
      const found = isLate ? `no answer within ${this.#timeoutMs} ms` : causeOf(error);
      throw new Error(`remote ${url}: ${found}`);
    }
  }
}

/** What the server itself said, in place of an answer. */
export class RemoteRefusal extends Error {
  readonly status: number;

  constructor(url: string, status: number, words: string) {
    super(`remote ${url} said ${status}: ${words}`);
    this.status = status;
  }
}

export function remoteUrl(url: string, model: string): string {
  const server = url.endsWith("/") ? url.slice(0, -1) : url;
  return `${server}/v2/models/${encodeURIComponent(model)}`;
}

/** What a connection failed of lies in the cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code } = cause as NodeJS.ErrnoException;
  return oneLine(cause) || code || "no answer";
}

/** @throws RemoteRefusal if it has more bytes than it may. */
async function bodyOf({ body, status, url }: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new RemoteRefusal(url, status, `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What an error says: the text under "error", where it is JSON as the protocol has it. */
function wordsOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES));
  try {
    const { error }: Fields = JSON.parse(text);
    if (typeof error === "string") return oneLine(error).slice(0, MAX_TOLD);
  } catch {
    // Some other text.
  }
  return oneLine(text).slice(0, MAX_TOLD) || "nothing";
}

function infosOf(value: unknown, side: string): TensorInfo[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TENSORS) {
    throw new Error(`expected ${side} to be a list of 1 to ${MAX_TENSORS} tensors`);
  }
  return value.map((one: unknown, index): TensorInfo => {
    const { name, datatype, shape } = fieldsOf(one, `${side}[${index}]`);
    const dtype = typeof datatype === "string" ? hostDtypeOf(datatype) : undefined;
    if (typeof name !== "string" || name === "" || name.length > 1024) {
      throw new Error(`expected ${side}[${index}] to have a name`);
    }
    if (dtype === undefined) {
      const found = typeof datatype === "string" ? datatype.slice(0, 40) : typeof datatype;
      throw new Error(`${side} "${name}": elements of type ${found} are not sent on`);
    }
    if (!isShape(shape) || shape[0] !== -1) {
      const found = Array.isArray(shape) ? `[${shape.slice(0, MAX_RANK).join(", ")}]` : "no list";
      throw new Error(
        `${side} "${name}": expected a shape whose first axis is the rows, −1, got ${found}`,
      );
    }
    return { name, dtype, shape: [...shape] };
  });
}

function isShape(shape: unknown): shape is readonly number[] {
  return (
    Array.isArray(shape) &&
    shape.length <= MAX_RANK &&
    shape.every((size) => Number.isInteger(size) && size >= -1 && size <= MAX_SIZE)
  );
}

/** Binary data follow the JSON in the order of the outputs that have some. */
function outputsOf(
  bytes: Uint8Array,
  headerLength: string | null,
  wanted: readonly TensorInfo[],
): GivenTensor[] {
  const jsonLength = headerLength === null ? bytes.length : Number(headerLength);
  if (!Number.isSafeInteger(jsonLength) || jsonLength < 0 || jsonLength > bytes.length) {
    throw new Error(`expected the length of the JSON, got ${headerLength}`);
  }
  const told = fieldsOf(
    JSON.parse(new TextDecoder().decode(bytes.subarray(0, jsonLength))),
    "the answer",
  );
  const given = new Map<string, GivenTensor>();
  let at = jsonLength;
  for (const one of Array.isArray(told["outputs"]) ? told["outputs"] : []) {
    const { name, datatype, shape, parameters } = fieldsOf(one, "an output");
    const info = wanted.find((each) => each.name === name);
    const size = fieldsOf(parameters ?? {}, "parameters")["binary_data_size"];
    if (info === undefined) throw new Error(`it answered with an output that nobody asked for`);
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
      throw new Error(`output "${info.name}": expected binary data, as it was asked for`);
    }
    if (at + size > bytes.length) throw new Error(`output "${info.name}": its data are cut short`);
    if (typeof datatype !== "string" || hostDtypeOf(datatype) !== info.dtype || !isShape(shape)) {
      const found = `${String(datatype).slice(0, 40)} ${JSON.stringify(shape)?.slice(0, 80)}`;
      throw new Error(
        `output "${info.name}": expected ${protocolTypeOf(info.dtype)} and a shape, got ${found}`,
      );
    }
    given.set(info.name, { shape, bytes: bytes.subarray(at, at + size) });
    at += size;
  }
  return wanted.map(({ name }) => {
    const tensor = given.get(name);
    if (tensor === undefined) throw new Error(`output "${name}" is missing`);
    return tensor;
  });
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`expected ${what} to be an object`);
}

function protocolTypeOf(dtype: string): string {
  return hostDatatypeOf(dtype) ?? dtype;
}
