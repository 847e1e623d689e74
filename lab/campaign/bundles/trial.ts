/** Tries mutants of the bundles of a method, one at a time. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BundleError } from "stratagem-runtime/internal/base/bundle-error";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { decodeBundle } from "stratagem-runtime/internal/bundles/checked-bundle";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { firstAxisNames } from "stratagem-runtime/internal/exec/onnx/onnx-axes";
import { drive } from "./drive.ts";
import { Mutants } from "./mutants.ts";
import type { AxesByFile } from "./serve.ts";

export interface Original {
  readonly name: string;
  readonly file: Uint8Array;
  readonly bundle: Bundle;
}

export interface Tried {
  readonly told: string;
  /** Null where it was accepted. */
  readonly refusal: string | null;
  readonly isServed: boolean;
}

/** Of accepted mutants, those whose promise is computed again, and that are reloaded. */
const RECOMPUTED_EVERY = 20;
const RELOADED_EVERY = 3;
/** Bundles with models to serve, and fixtures; large ones only take longer. */
const FILES = [
  "policies/letters/bundle.msgpack",
  "policies/scenes/bundle.msgpack",
  "policies/cascade/bundle.msgpack",
  "policies/scaling/bundle.msgpack",
  "policies/malleable/bundle.msgpack",
  "test/fixtures/bundles/v1.msgpack",
  "test/fixtures/bundles/classes-v1.msgpack",
  "test/fixtures/bundles/loki-v1.msgpack",
  "test/fixtures/bundles/inferline-v1.msgpack",
  "test/fixtures/bundles/themis-v1.msgpack",
  "test/fixtures/bundles/accordion-v1.msgpack",
];

/** @param root of the repository. */
export function originals(root: string, method?: Bundle["method"]): Original[] {
  const all = FILES.map((name) => {
    const file = readFileSync(join(root, name));
    return { name, file, bundle: decodeBundle(file) };
  });
  return all.filter(({ bundle }) => method === undefined || bundle.method === method);
}

/** First axes of the models of all examples. */
export function axesByFile(root: string): AxesByFile {
  const axes = new Map<string, Record<string, string>>();
  for (const folder of readdirSync(join(root, "models"))) {
    for (const file of readdirSync(join(root, "models", folder))) {
      if (!file.endsWith(".onnx")) continue;
      axes.set(file, firstAxisNames(readFileSync(join(root, "models", folder, file))));
    }
  }
  return axes;
}

/** Mutants of one bundle, the same for the same seed and stream. */
export class Trial {
  readonly #original: Original;
  readonly #mutants: Mutants;
  readonly #axes: AxesByFile;
  #count = 0;

  constructor(original: Original, axes: AxesByFile, seed: number, stream: number) {
    this.#original = original;
    this.#axes = axes;
    this.#mutants = new Mutants(original.file, new Rng(seed, stream));
  }

  /** @param isDriven told what is tried before it is driven. @throws what a reader may not do. */
  async next(onAccepted: (told: string) => void = () => {}): Promise<Tried> {
    const { file, told } = this.#mutants.next();
    let bundle: Bundle;
    try {
      bundle = decodeBundle(file);
    } catch (error) {
      if (!(error instanceof BundleError)) throw wrong(this.#original.name, told, error);
      if (error.message.includes("\n")) throw wrong(this.#original.name, told, error);
      return { told, refusal: error.code, isServed: false };
    }
    onAccepted(told);
    try {
      const count = this.#count++;
      const { isServed } = await drive(bundle, {
        base: this.#original.bundle,
        axesByFile: this.#axes,
        level: count % 2 === 0 ? 0 : -1,
        recomputes: count % RECOMPUTED_EVERY === 0,
        reloads: count % RELOADED_EVERY === 0,
      });
      return { told, refusal: null, isServed };
    } catch (error) {
      throw wrong(this.#original.name, told, error);
    }
  }
}

function wrong(name: string, told: string, error: unknown): Error {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Error(`${name}: ${told}: ${reason}`, { cause: error });
}
