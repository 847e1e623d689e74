/** Sends requests to one model of a server and reads the server's counters. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { InferenceClient } from "../../load/inference-client.ts";
import { SequenceIds } from "../../load/load-sequences.ts";
import { InputError } from "../../spec/document/input-error.ts";
import type { SentRequests } from "./path-window.ts";
import type { Ask } from "./request-loops.ts";
import type { ServedModel } from "./served-model.ts";
import { type RowsOf, type ServedRequest, servedRequest } from "./served-request.ts";
import { type ServerCounters, serverCounters } from "./server-counters.ts";

export interface ServedPathSources {
  readonly rowsOf: RowsOf;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/** Most distinct requests, and their total bytes. */
const MOST_KINDS = 256;
const MOST_BYTES = 2 ** 24;

export class ServedPath {
  readonly #client: InferenceClient;
  readonly #model: ServedModel;
  readonly #rowsOf: RowsOf;
  readonly #nowMs: () => number;
  readonly #url: string;
  readonly #sequences: SequenceIds | null;
  #count = 0;
  #failure = "";

  constructor(client: InferenceClient, model: ServedModel, { rowsOf, nowMs }: ServedPathSources) {
    this.#client = client;
    this.#model = model;
    this.#rowsOf = rowsOf;
    this.#nowMs = nowMs;
    this.#url = `/v2/models/${encodeURIComponent(model.name)}/infer`;
    this.#sequences = model.wantsSequences ? new SequenceIds() : null;
  }

  /**
   * Creates requests of `rows` rows each, with different rows if available: how many queries a row
   * becomes depends on its content. @throws InputError as `servedRequest`.
   */
  requests(rows: number): ServedRequest[] {
    const sequence = this.#sequences?.first ?? null;
    const made: ServedRequest[] = [];
    for (let bytes = 0; made.length < MOST_KINDS && bytes < MOST_BYTES; ) {
      const request = servedRequest(this.#model, rows, this.#rowsOf, sequence);
      if (made[0]?.body.equals(request.body)) break;
      made.push(request);
      bytes += request.body.length;
    }
    return made;
  }

  /** Creates requests of `rows` rows; null if the model does not answer them in time. */
  async larger(rows: number, mostMs: number): Promise<ServedRequest[] | null> {
    if (this.#sequences !== null) return null;
    const requests = this.requests(rows);
    const { roundTripMs } = await this.sent(requests, (ask) => ask());
    const [tookMs = Number.NaN] = roundTripMs.values();
    return tookMs <= mostMs ? requests : null;
  }

  /** Sends the requests in turn in a loop, and returns their times. */
  async sent(
    requests: readonly ServedRequest[],
    loop: (ask: Ask) => Promise<unknown>,
  ): Promise<SentRequests> {
    const roundTripMs = new Map<string, number>();
    await loop(async () => {
      const id = `path-${this.#count}`;
      const request = requests[this.#count++ % requests.length];
      assert(request !== undefined, "there are requests to send");
      const ms = await this.#ask(request, id);
      roundTripMs.set(id, ms);
      return ms;
    });
    return { roundTripMs };
  }

  /** Reads the server's counters since its start. */
  async counters(): Promise<ServerCounters> {
    const { body } = await this.#client.send("/metrics", null);
    return serverCounters(body.toString(), this.#model.name);
  }

  /** @throws InputError if no request was answered. */
  expectAnswers({ roundTripMs }: SentRequests): void {
    if ([...roundTripMs.values()].some((ms) => !Number.isNaN(ms))) return;
    throw new InputError(
      "INPUT_CONFLICT",
      `expected a server that answers requests for "${this.#model.name}", to measure its ` +
        `serving path, got: ${this.#failure}`,
    );
  }

  async #ask({ headers, body }: ServedRequest, id: string): Promise<number> {
    const startMs = this.#nowMs();
    const sequence = this.#sequences;
    const own = sequence === null ? body : sequence.next(body);
    const reply = await this.#client.send(this.#url, own, { ...headers, "x-request-id": id });
    if (reply.status === 200) return this.#nowMs() - startMs;
    this.#failure = `${reply.status} ${reply.body.toString("utf8", 0, 200)}`;
    return Number.NaN;
  }
}
