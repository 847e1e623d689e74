/**
 * Models that a worker holds: the assigned ones and, so that they return quickly, some that it held
 * before. Each has one session for every core count that is wanted, because a session cannot change
 * its threads. Sessions share nothing: each has its own copy of the weights.
 */

import { assert } from "../../core/assert.ts";
import { type VariantModel, warmCoresOf } from "../models/executor.ts";
import type { LoadedModel } from "../models/loaded-model.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { ModuleModel } from "../modules/module-model.ts";
import { RemoteModel } from "../modules/remote-model.ts";
import { OnnxChain } from "../onnx/onnx-chain.ts";
import { OnnxModel } from "../onnx/onnx-session.ts";

/** Assignment of variants to a worker; sent as JSON. */
export interface Holding {
  readonly variants: readonly number[];
  /** Core counts beside those that each variant keeps warm. */
  readonly cores: readonly number[];
}

/** Next step of an assignment; sent as JSON. */
export interface LoadStep {
  /** Index of the variant. */
  readonly variant: number;
  /** Description of the step, in words. */
  readonly step: string;
}

/** Sessions per core count. */
type Sessions = Map<number, LoadedModel>;

export class ModelStore {
  readonly #setup: WorkerSetup;
  readonly #onStep: (step: LoadStep) => void;
  readonly #onFacts: (facts: ModelFacts) => void;
  /** Least recently held first. */
  readonly #sessionsByVariant = new Map<number, Sessions>();

  /**
   * @param onStep called before each step, which may take long.
   * @param onFacts called for each variant that was not held, after its first session.
   */
  constructor(
    setup: WorkerSetup,
    onStep: (step: LoadStep) => void,
    onFacts: (facts: ModelFacts) => void,
  ) {
    this.#setup = setup;
    this.#onStep = onStep;
    this.#onFacts = onFacts;
  }

  /**
   * Loads and warms missing variants, then releases those beyond the limit.
   * @returns how many variants were not held at all. @throws Error naming the variant that failed.
   */
  async hold({ variants, cores }: Holding): Promise<number> {
    let loads = 0;
    for (const variant of variants) {
      const known = this.#sessionsByVariant.get(variant);
      if (known === undefined) loads++;
      const sessions: Sessions = known ?? new Map();
      await this.#fit(variant, sessions, cores);
      const [first] = sessions.values();
      if (known === undefined && first !== undefined) this.#onFacts({ variant, ...first.facts });
      this.#sessionsByVariant.delete(variant);
      this.#sessionsByVariant.set(variant, sessions);
    }
    await this.#releaseBeyond(Math.max(this.#setup.keptModels ?? 0, variants.length));
    // The bytes of files are garbage now, which would otherwise stay until JavaScript needs room.
    globalThis.gc?.();
    return loads;
  }

  model(variant: number, cores: number): LoadedModel {
    const model = this.#sessionsByVariant.get(variant)?.get(cores);
    assert(model !== undefined, "a batch names a loaded variant, and cores it was loaded for");
    return model;
  }

  /** Sessions for the warm core counts of the variant and for `cores`, and for no others. */
  async #fit(variant: number, sessions: Sessions, cores: readonly number[]): Promise<void> {
    const info = this.#setup.variants[variant];
    assert(info !== undefined, "a worker is assigned known variants only");
    const wanted = new Set([...warmCoresOf(info, this.#setup.threads), ...cores]);
    for (const [count, model] of sessions) {
      if (wanted.has(count)) continue;
      sessions.delete(count);
      await model.release();
    }
    for (const count of wanted) {
      if (sessions.has(count)) continue;
      const onStep = (step: string) => this.#onStep({ variant, step });
      sessions.set(count, await loadModel(info, count, this.#setup, onStep));
    }
  }

  async #releaseBeyond(limit: number): Promise<void> {
    for (const [variant, sessions] of this.#sessionsByVariant) {
      if (this.#sessionsByVariant.size <= limit) return;
      this.#sessionsByVariant.delete(variant);
      for (const model of sessions.values()) await model.release();
    }
  }
}

/**
 * Loads a variant: an ONNX file, several in a row, a module, or a remote model.
 * @param onStep called before each step, which may take long. @throws Error naming the variant.
 */
export function loadModel(
  variant: VariantModel,
  cores: number,
  setup: WorkerSetup,
  onStep: (step: string) => void,
): Promise<LoadedModel> {
  const { module, remote, parts } = variant;
  if (module !== undefined) return ModuleModel.load(variant, module, cores, onStep);
  if (remote !== undefined) return RemoteModel.load(variant, remote, cores, onStep);
  if (parts !== undefined) return OnnxChain.load(variant, parts, cores, setup, onStep);
  return OnnxModel.load(variant, cores, setup, onStep);
}
