/** A variant of one ONNX file inside a worker: its session, and running a batch on it. */
import { AdaptedModel } from "../adapter/adapted-model.ts";
import type { BatchResult, VariantModel } from "../models/executor.ts";
import { type LoadedModel, measuredRun, oneLine } from "../models/loaded-model.ts";
import { factsOf, type LoadFacts } from "../models/model-facts.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { feedsOf, outputOf } from "../tensors/batch-tensors.ts";
import type { InferenceSession } from "../tensors/onnxruntime.ts";
import { checkModel } from "../tensors/promised-tensors.ts";
import { firstRuns } from "./first-runs.ts";
import { loadError } from "./load-error.ts";
import { type OpenedSession, openSession } from "./open-session.ts";
import { LOG_LEVELS } from "./session-options.ts";

type Inputs = readonly Uint8Array<ArrayBuffer>[];

export class OnnxModel implements LoadedModel {
  facts: LoadFacts = factsOf(0);
  readonly #variant: VariantModel;
  readonly #cores: number;
  readonly #session: InferenceSession;
  readonly #adapted: AdaptedModel | null;

  private constructor(variant: VariantModel, cores: number, session: InferenceSession) {
    this.#variant = variant;
    this.#cores = cores;
    this.#session = session;
    this.#adapted =
      variant.adapter === undefined ? null : new AdaptedModel(variant, variant.adapter);
  }

  /**
   * Loads a variant with as many threads as cores, fixed for the life of the session, and warms it
   * up. Under a GPU provider it finds the nodes that are left to the processor.
   * @param onStep called with the name of the next step, which may take long.
   * @throws Error naming variant and device if the device is absent, the model does not match its
   * variant, or nodes fall back and that is refused.
   */
  static async load(
    variant: VariantModel,
    cores: number,
    setup: WorkerSetup,
    onStep: (step: string) => void = () => {},
  ): Promise<OnnxModel> {
    let opened: OpenedSession | null = null;
    try {
      onStep(`loading it for ${cores} ${cores === 1 ? "core" : "cores"}`);
      const startMs = performance.now();
      opened = await openSession(variant, setup, cores);
      checkModel(variant, opened.session);
      const model = new OnnxModel(variant, cores, opened.session);
      const loadMs = performance.now() - startMs;
      model.facts = { loadMs, ...(await model.#firstRuns(opened, setup, onStep)) };
      return model;
    } catch (error) {
      await opened?.session.release();
      throw await loadError(variant, variant.path, setup, error);
    } finally {
      opened?.profile?.remove();
    }
  }

  /**
   * @param bucket which of the bucket sizes the rows have.
   * @throws Error if the bytes do not make a batch of `rows` or the model refuses it.
   */
  async run(rows: number, inputs: Inputs, bucket = 0): Promise<BatchResult> {
    try {
      const feeds = this.#feeds(rows, inputs, bucket);
      return await measuredRun(this.#cores, async () => {
        const names = this.#adapted?.outputNames;
        const fetched =
          names === undefined
            ? await this.#session.run(feeds)
            : await this.#session.run(feeds, names);
        return this.#outputs(fetched, rows);
      });
    } catch (error) {
      throw new Error(oneLine(error));
    }
  }

  /** Frees its memory; it runs no more batches. */
  release(): Promise<void> {
    return this.#session.release();
  }

  #firstRuns(opened: OpenedSession, setup: WorkerSetup, onStep: (step: string) => void) {
    const quiet = { logSeverityLevel: LOG_LEVELS.fatal };
    const model = {
      variant: this.#variant,
      opened: [opened],
      run: (rows: number, inputs: Inputs, bucket: number) => this.run(rows, inputs, bucket),
      tryRun: async (rows: number, inputs: Inputs, bucket: number) =>
        this.#session.run(this.#feeds(rows, inputs, bucket), quiet),
    };
    return firstRuns(model, setup, onStep);
  }

  #feeds(rows: number, inputs: Inputs, bucket: number) {
    const own = this.#variant.inputs;
    return this.#adapted?.feeds(rows, inputs, bucket) ?? feedsOf(own, rows, inputs);
  }

  #outputs(fetched: InferenceSession.OnnxValueMapType, rows: number): BatchResult["outputs"] {
    const mayHaveOtherRows = this.#variant.outputsAreRows === false;
    if (this.#adapted !== null) return this.#adapted.outputs(rows, fetched, mayHaveOtherRows);
    const expectedRows = mayHaveOtherRows ? null : rows;
    return this.#session.outputNames.map((name) => outputOf(name, fetched[name], expectedRows));
  }
}
