/**
 * Client of a model on another server: Open Inference Protocol v2 over HTTP with binary tensors.
 */
import { askHttp, causeOf, type HttpRequest, type WholeAnswer } from "../../base/http-client.ts";
import type { TensorInfo } from "../../bundle/schema.ts";
import { oneLine } from "../models/loaded-model.ts";
import {
  describedTensors,
  type GivenTensor,
  HEADER_LENGTH,
  headerLengthOf,
  inferJson,
  MAX_ANSWER_BYTES,
  MAX_TEXT_BYTES,
  outputsOf,
  type RemoteTensors,
  type SentTensor,
  wordsOf,
} from "../tensors/v2-codec.ts";

export class RemoteEndpoint {
  /** URL of the model, without a slash at its end. */
  readonly url: string;
  readonly #model: string;
  readonly #timeoutMs: number;

  /** @param url URL of the server. @param timeoutMs limit for one answer. */
  constructor(url: string, model: string, timeoutMs: number) {
    this.url = remoteUrl(url, model);
    this.#model = model;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the tensors that the model takes and gives. @throws Error naming the URL. */
  async tensors(): Promise<RemoteTensors> {
    const { bytes } = await this.#ask(this.url, {}, MAX_TEXT_BYTES);
    try {
      return describedTensors(bytes, "rows");
    } catch (error) {
      throw new Error(`remote ${this.url}: ${oneLine(error)}`);
    }
  }

  /**
   * Runs a batch. @returns one tensor per output, with the shape that the server states.
   * @throws Error naming the URL and the server's message, or the timeout.
   */
  async infer(
    inputs: readonly SentTensor[],
    outputs: readonly TensorInfo[],
  ): Promise<GivenTensor[]> {
    const json = inferJson(inputs, outputs);
    const { headers, bytes } = await this.#ask(
      `${this.url}/infer`,
      {
        method: "POST",
        headers: {
          [HEADER_LENGTH]: String(json.length),
          "content-type": "application/octet-stream",
        },
        body: Buffer.concat([json, ...inputs.flatMap((input) => input.chunks)]),
      },
      MAX_ANSWER_BYTES,
    );
    try {
      return outputsOf(bytes, headerLengthOf(headers), { model: this.#model, outputs });
    } catch (error) {
      throw new Error(`remote ${this.url}/infer: ${oneLine(error)}`);
    }
  }

  async #ask(
    url: string,
    request: Pick<HttpRequest, "method" | "headers" | "body">,
    maxBytes: number,
  ): Promise<WholeAnswer> {
    // Idle connections are not watched between batches: two turns let closed ones be noticed.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    try {
      const answer = await askHttp(url, {
        ...request,
        timeoutMs: this.#timeoutMs,
        maxBytes,
        maxRedirects: 0,
      });
      if (answer.status >= 200 && answer.status < 300) return answer;
      throw new RemoteRefusal(url, answer.status, wordsOf(answer.bytes));
    } catch (error) {
      if (error instanceof RemoteRefusal) throw error;
      throw new Error(`remote ${url}: ${causeOf(error)}`);
    }
  }
}

/** An error answer of the server. */
export class RemoteRefusal extends Error {
  readonly status: number;

  constructor(url: string, status: number, words: string) {
    super(`remote ${url} answered ${status}: ${words}`);
    this.status = status;
  }
}

export function remoteUrl(url: string, model: string): string {
  const server = url.endsWith("/") ? url.slice(0, -1) : url;
  return `${server}/v2/models/${encodeURIComponent(model)}`;
}
