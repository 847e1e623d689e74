/** A steady load whose requests are sent when they are due, and what became of each. */
import { encodeRequestHeader, type LoadModel } from "stratagem/internal/load/infer-codec";
import { failureCode, InferenceClient } from "stratagem/internal/load/inference-client";
import { readLoadModel } from "stratagem/internal/load/model-metadata";
import { Rng } from "stratagem-runtime/internal/core/rng";

export interface OpenLoadOptions {
  /** Null for the first that the server has. */
  readonly model: string | null;
  readonly qps: number;
  readonly rows: number;
  /** Bytes of one row, by its number. */
  readonly row: (index: number) => Uint8Array;
}

/** A request: when it was due, and when and how it ended. */
export interface Asked {
  readonly sentMs: number;
  /** Infinity as long as it has not. */
  endMs: number;
  /** Undefined where there was no answer. */
  status: number | undefined;
  reason: string;
}

/** Far above what any answer may take. */
const TIMEOUT_MS = 60_000;
/** Time that what is open at the end has. */
const GRACE_MS = 35_000;

/** Poisson arrivals, until it is told to end. */
export class OpenLoad {
  readonly asked: Asked[] = [];
  readonly #options: OpenLoadOptions;
  readonly #client: InferenceClient;
  readonly #rng: Rng;
  readonly #open = new Set<Promise<void>>();
  #model: LoadModel | undefined;
  #header: Buffer = Buffer.alloc(0);
  #rowsSent = 0;
  #nextMs = 0;
  #isOver = false;

  constructor(url: string, options: OpenLoadOptions, seed: number) {
    this.#options = options;
    this.#client = new InferenceClient({ url, timeoutMs: TIMEOUT_MS });
    this.#rng = new Rng(seed, 1);
  }

  /** @throws RuntimeError if there is no such server or model. */
  async begin(): Promise<void> {
    const model = await readLoadModel(this.#client, this.#options.model);
    this.#model = model;
    const { rows } = this.#options;
    this.#header = headerOf(encodeRequestHeader(model), rows);
    this.#nextMs = performance.now();
    this.#pump();
  }

  /** Waits for what is open. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const grace = new Promise<void>((resolve) => setTimeout(resolve, GRACE_MS).unref());
    await Promise.race([Promise.all(this.#open), grace]);
    await this.#client.close();
  }

  #pump(): void {
    if (this.#isOver) return;
    while (this.#nextMs <= performance.now()) {
      const sending = this.#send(this.#nextMs).finally(() => this.#open.delete(sending));
      this.#open.add(sending);
      this.#nextMs += (-Math.log(1 - this.#rng.nextFloat()) * 1000) / this.#options.qps;
    }
    setTimeout(() => this.#pump(), Math.max(0, this.#nextMs - performance.now()));
  }

  async #send(sentMs: number): Promise<void> {
    const { rows, row } = this.#options;
    const asked: Asked = { sentMs, endMs: Number.POSITIVE_INFINITY, status: undefined, reason: "" };
    this.asked.push(asked);
    const bytes = Array.from({ length: rows }, () => row(this.#rowsSent++));
    const name = encodeURIComponent(this.#model?.name ?? "");
    try {
      const reply = await this.#client.send(
        `/v2/models/${name}/infer`,
        Buffer.concat([this.#header, ...bytes]),
        {
          "content-type": "application/octet-stream",
          "inference-header-content-length": String(this.#header.length),
        },
      );
      asked.status = reply.status;
      if (reply.status !== 200) asked.reason = reasonOf(reply.body);
      asked.endMs = performance.now();
    } catch (error) {
      asked.reason = failureCode(error);
    }
  }
}

/** The header of one row, for several. */
function headerOf(ofOne: Buffer, rows: number): Buffer {
  const header = JSON.parse(ofOne.toString()) as {
    inputs: { shape: number[]; parameters: { binary_data_size: number } }[];
  };
  for (const { shape, parameters } of header.inputs) {
    shape[0] = rows;
    parameters.binary_data_size *= rows;
  }
  return Buffer.from(JSON.stringify(header));
}

function reasonOf(body: Buffer): string {
  try {
    const { error } = JSON.parse(body.toString()) as { error?: unknown };
    return String(error);
  } catch {
    return "no JSON";
  }
}
