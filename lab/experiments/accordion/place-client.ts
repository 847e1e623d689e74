/** Sends queries of random rows, in the binary form, to a live server of malleable models. */
import { setTimeout as pause } from "node:timers/promises";
import type { AccordionQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { datatypeOf } from "stratagem-runtime/internal/server/tensors/tensors";
import { present } from "../harness/numbers.ts";

export interface PlaceAnswer {
  /** 0 for no answer, or one that is not whole. */
  readonly status: number;
  readonly latencyMs: number;
  /** How long after it was due the query was sent. */
  readonly lagMs: number;
}

interface PlaceRequest {
  readonly model: string;
  readonly rows: number;
  readonly body: Buffer<ArrayBuffer>;
  readonly headBytes: number;
}

const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  FP32: 4,
  FP64: 8,
  INT64: 8,
  INT32: 4,
  UINT8: 1,
  FP16: 2,
};
/** Every shape of every path is warm in the workers; these are for the server's own code. */
const WARM_UP_ROUNDS = 5;

export class PlaceClient {
  readonly #url: string;
  readonly #variants: readonly MalleableVariant[];
  readonly #rng: Rng;

  constructor(url: string, bundle: AccordionBundle, rng: Rng) {
    this.#url = url;
    this.#variants = present(bundle.tasks[0]).variants;
    this.#rng = rng;
  }

  async warmUp(): Promise<void> {
    for (const model of this.#variants.keys()) {
      for (let round = 0; round < WARM_UP_ROUNDS; round++) {
        await this.#infer(this.#requestOf(model, 1, true));
      }
    }
  }

  /** Sends every query when it is due, whatever is still on its way, and answers in their order. */
  async sendAll(queries: AccordionQueries, startMs: number): Promise<PlaceAnswer[]> {
    const answers: Promise<PlaceAnswer>[] = [];
    for (const [query, atMs] of queries.arrivalMs.entries()) {
      const { model, batch, isHigh } = queries;
      const request = this.#requestOf(model[query] ?? 0, batch[query] ?? 1, isHigh[query] === 1);
      const dueMs = startMs + atMs;
      await pause(Math.max(0, dueMs - performance.now()));
      const lagMs = performance.now() - dueMs;
      answers.push(this.#infer(request).then((answer) => ({ ...answer, lagMs })));
    }
    return Promise.all(answers);
  }

  #requestOf(model: number, rows: number, isHigh: boolean): PlaceRequest {
    const { name, model: file } = present(this.#variants[model]);
    const tensors = present(file ?? undefined, "a model").inputs.map((input) => {
      const datatype = datatypeOf(input.dtype) ?? "";
      const shape = [rows, ...input.shape.slice(1)];
      const elements = shape.reduce((size, axis) => size * axis, 1);
      const bytes = this.#randomBytes(datatype, elements);
      const parameters = { binary_data_size: bytes.length };
      return { bytes, head: { name: input.name, datatype, shape, parameters } };
    });
    const parameters = { priority: isHigh ? 1 : 2, binary_data_output: true };
    const inputs = tensors.map((tensor) => tensor.head);
    const head = Buffer.from(JSON.stringify({ parameters, inputs }));
    const body = Buffer.concat([head, ...tensors.map(({ bytes }) => bytes)]);
    return { model: name, rows, body, headBytes: head.length };
  }

  #randomBytes(datatype: string, elements: number): Buffer {
    const bytes = Buffer.alloc(elements * (ELEMENT_BYTES[datatype] ?? 0));
    if (datatype === "FP32") {
      for (let at = 0; at < elements; at++) bytes.writeFloatLE(this.#rng.nextFloat(), 4 * at);
    } else if (datatype === "UINT8") {
      for (let at = 0; at < elements; at++) bytes[at] = Math.floor(256 * this.#rng.nextFloat());
    }
    return bytes;
  }

  async #infer({ model, rows, body, headBytes }: PlaceRequest) {
    const sentMs = performance.now();
    try {
      const reply = await fetch(`${this.#url}/v2/models/${model}/infer`, {
        method: "POST",
        headers: { "inference-header-content-length": String(headBytes) },
        body,
      });
      const bytes = Buffer.from(await reply.arrayBuffer());
      const latencyMs = performance.now() - sentMs;
      if (reply.status !== 200) return { status: reply.status, latencyMs };
      const length = Number(reply.headers.get("inference-header-content-length"));
      const { outputs } = JSON.parse(bytes.subarray(0, length).toString()) as {
        outputs: readonly { readonly shape: readonly number[] }[];
      };
      const isWhole = outputs.every(({ shape }) => shape[0] === rows);
      return { status: isWhole ? 200 : 0, latencyMs };
    } catch {
      return { status: 0, latencyMs: Number.NaN };
    }
  }
}
