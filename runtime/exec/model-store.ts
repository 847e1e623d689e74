/** The models that a worker holds: those it was told to and, for a quick way back, some that it held before. */
import { assert } from "../core/assert.ts";
import { OnnxModel, type WorkerSetup } from "./onnx-session.ts";

export class ModelStore {
  readonly #setup: WorkerSetup;
  /** Least recently held first. */
  readonly #modelByVariant = new Map<number, OnnxModel>();

  constructor(setup: WorkerSetup) {
    this.#setup = setup;
  }

  /**
   * Loads and warms the variants that are not loaded, then releases those beyond the limit.
   * @returns how many were loaded. @throws Error naming the variant that failed.
   */
  async hold(variants: readonly number[]): Promise<number> {
    let loads = 0;
    for (const variant of variants) {
      const known = this.#modelByVariant.get(variant);
      if (known === undefined) loads++;
      const model = known ?? (await this.#load(variant));
      this.#modelByVariant.delete(variant);
      this.#modelByVariant.set(variant, model);
    }
    await this.#releaseBeyond(Math.max(this.#setup.keptModels ?? 0, variants.length));
    return loads;
  }

  model(variant: number): OnnxModel {
    const model = this.#modelByVariant.get(variant);
    assert(model !== undefined, "a batch names a loaded variant");
    return model;
  }

  #load(variant: number): Promise<OnnxModel> {
    const info = this.#setup.variants[variant];
    assert(info !== undefined, "a worker is told to hold variants that there are");
    return OnnxModel.load(info, this.#setup);
  }

  async #releaseBeyond(limit: number): Promise<void> {
    for (const [variant, model] of this.#modelByVariant) {
      if (this.#modelByVariant.size <= limit) return;
      this.#modelByVariant.delete(variant);
      await model.release();
    }
  }
}
