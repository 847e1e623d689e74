/** A model on another server, run like a local one. */
import { assert } from "../../core/assert.ts";
import type { BatchResult, VariantModel, VariantRemote } from "../models/executor.ts";
import { BadRowsError, type LoadedModel, measuredRun, oneLine } from "../models/loaded-model.ts";
import { factsOf, type LoadFacts } from "../models/model-facts.ts";
import { hostTensor, tensorMistake } from "../tensors/host-tensors.ts";
import { expectTensors } from "./module-model.ts";
import { RemoteEndpoint, RemoteRefusal } from "./remote-endpoint.ts";

export class RemoteModel implements LoadedModel {
  readonly facts: LoadFacts;
  readonly #variant: VariantModel;
  readonly #cores: number;
  readonly #endpoint: RemoteEndpoint;

  private constructor(
    variant: VariantModel,
    cores: number,
    endpoint: RemoteEndpoint,
    loadMs: number,
  ) {
    this.facts = factsOf(loadMs);
    this.#variant = variant;
    this.#cores = cores;
    this.#endpoint = endpoint;
  }

  /**
   * Checks that the server still has the promised model. No warm-up: the server has other clients,
   * and may refuse zeros.
   * @throws Error naming variant and URL if the model differs or the server does not answer.
   */
  static async load(
    variant: VariantModel,
    { url, model, timeoutMs }: VariantRemote,
    cores: number,
    onStep: (step: string) => void,
  ): Promise<RemoteModel> {
    const endpoint = new RemoteEndpoint(url, model, timeoutMs);
    const startMs = performance.now();
    try {
      onStep(`reading the description of ${endpoint.url}`);
      const { inputs, outputs } = await endpoint.tensors();
      expectTensors("input", variant.inputs, inputs);
      expectTensors("output", variant.outputs, outputs);
    } catch (error) {
      throw new Error(`${variant.name} (${endpoint.url}): ${oneLine(error)}`);
    }
    return new RemoteModel(variant, cores, endpoint, performance.now() - startMs);
  }

  async run(rows: number, inputs: readonly Uint8Array<ArrayBuffer>[]): Promise<BatchResult> {
    const { inputs: infos, outputs: wanted, outputsAreRows } = this.#variant;
    const sent = infos.map((info, index) => {
      const bytes = inputs[index];
      assert(bytes !== undefined, "every input has bytes");
      return { info, shape: hostTensor(info, rows, bytes).shape, chunks: [bytes] };
    });
    const result = await measuredRun(this.#cores, () => this.#endpoint.infer(sent, wanted)).catch(
      (error: unknown) => {
        // A status 400 does not name the row, so it blames one only in a batch of one.
        const isBadRow = error instanceof RemoteRefusal && error.status === 400 && rows === 1;
        throw isBadRow ? new BadRowsError(error.message, [0]) : error;
      },
    );
    for (const [index, info] of wanted.entries()) {
      const tensor = result.outputs[index];
      assert(tensor !== undefined, "an answer has all outputs");
      const mistake = tensorMistake(info, tensor, outputsAreRows === false ? null : rows);
      if (mistake === null) continue;
      throw new Error(`remote ${this.#endpoint.url}/infer: output "${info.name}": ${mistake}`);
    }
    return result;
  }

  /** Connections end with the process. */
  release(): Promise<void> {
    return Promise.resolve();
  }
}
