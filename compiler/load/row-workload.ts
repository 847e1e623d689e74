/** Requests of one row each, in the binary form of the Open Inference Protocol v2. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { CLASS_STREAM, QueryClasses } from "../simulate/query-classes.ts";
import { decodeReply, encodeRequestHeader, type LoadModel } from "./infer-codec.ts";
import type { HttpReply, InferenceClient } from "./inference-client.ts";
import { type LoadClass, readLoadClasses } from "./load-classes.ts";
import { SequenceIds, wantsSequences } from "./load-sequences.ts";
import { readLoadModel } from "./model-metadata.ts";
import type { Judged, Outgoing, Workload, WorkloadClass } from "./workload.ts";

/** Query with one row of every input tensor. */
export interface LoadInput {
  /** Row-major little-endian bytes of the inputs, in the order of the model's metadata. */
  readonly bytes: Uint8Array;
  /** Correct class; null if unknown. */
  readonly label: number | null;
}

export interface RowOptions {
  /** Null for the first model that the server lists. */
  readonly model: string | null;
  readonly seed: number;
  /**
   * Class of the queries, or all that the server states, drawn by their shares; left out for none.
   */
  readonly classes?: { readonly kind: "one"; readonly name: string } | { readonly kind: "all" };
  /** Returns the query of an index; null to send rows of zeros. */
  readonly inputs: ((index: number, model: LoadModel) => LoadInput) | null;
}

/** @throws RuntimeError if the model or class does not exist. */
export async function openRowWorkload(
  client: InferenceClient,
  options: RowOptions,
): Promise<Workload> {
  const model = await readLoadModel(client, options.model);
  const { classes } = options;
  const asked = classes?.kind === "one" ? classes.name : null;
  const named = classes === undefined ? [] : await readLoadClasses(client, model.name, asked);
  const ids = (await wantsSequences(client, model.name)) ? new SequenceIds() : null;
  return new RowWorkload(options, model, named, ids);
}

/** Common parts of the queries of a class; of all queries without classes. */
interface Kind {
  readonly jsonHeader: Buffer;
  readonly httpHeaders: Readonly<Record<string, string>>;
  /** Body of a row of zeros, encoded once. */
  readonly zerosBody: Buffer;
}

class RowWorkload implements Workload {
  readonly model: string;
  readonly classes: readonly WorkloadClass[];
  readonly #inputs: RowOptions["inputs"];
  readonly #model: LoadModel;
  readonly #ids: SequenceIds | null;
  readonly #path: string;
  readonly #kinds: readonly [Kind, ...Kind[]];
  readonly #drawn: QueryClasses;
  readonly #zeros: LoadInput;

  /**
   * @param classes empty for queries without classes. @param ids null for queries without
   * sequences.
   */
  constructor(
    { inputs, seed }: RowOptions,
    model: LoadModel,
    classes: readonly LoadClass[],
    ids: SequenceIds | null,
  ) {
    this.model = model.name;
    this.classes = classes.map(({ name, latencyMs }) => ({ name, sloMs: latencyMs }));
    this.#inputs = inputs;
    this.#model = model;
    this.#ids = ids;
    this.#path = `/v2/models/${encodeURIComponent(model.name)}/infer`;
    this.#zeros = { bytes: new Uint8Array(model.rowBytes), label: null };
    const [first, ...others] = classes.map(({ name }) => this.#kindOf(name));
    this.#kinds = [first ?? this.#kindOf(null), ...others];
    const drawn = classes.length > 1 ? { latencyMs: 0, classes } : { latencyMs: 0 };
    this.#drawn = new QueryClasses(drawn, new Rng(seed, CLASS_STREAM));
  }

  request(index: number, isCounted: boolean): Outgoing {
    const classIndex = isCounted ? this.#drawn.next() : 0;
    const { jsonHeader, httpHeaders, zerosBody } = this.#kinds[classIndex] ?? this.#kinds[0];
    const input = this.#input(index);
    const isZeros = this.#ids === null && input === this.#zeros;
    const header = this.#ids?.next(jsonHeader) ?? jsonHeader;
    return {
      path: this.#path,
      headers: httpHeaders,
      body: isZeros ? zerosBody : Buffer.concat([header, input.bytes]),
      classIndex,
      judge: (reply) => judged(reply, input.label),
    };
  }

  #kindOf(sloClass: string | null): Kind {
    const jsonHeader = encodeRequestHeader(this.#model, sloClass, this.#ids?.first ?? null);
    return {
      jsonHeader,
      httpHeaders: {
        "content-type": "application/octet-stream",
        "inference-header-content-length": String(jsonHeader.length),
      },
      zerosBody: Buffer.concat([jsonHeader, this.#zeros.bytes]),
    };
  }

  #input(index: number): LoadInput {
    const input = this.#inputs === null ? this.#zeros : this.#inputs(index, this.#model);
    assert(input.bytes.length === this.#model.rowBytes, "expected the bytes of one row");
    return input;
  }
}

function judged({ headers, body }: HttpReply, label: number | null): Judged {
  const headerLength = headers["inference-header-content-length"];
  const reply = decodeReply(body, headerLength?.toString(), label !== null);
  const { variant, accuracy, predicted } = reply;
  return { variant, accuracy, score: label === null ? null : Number(predicted === label) };
}
