/** Builds models of consecutive layers: the files that a worker opens, and their inputs. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert } from "stratagem-runtime/internal/core/assert";
import { randomInputs } from "../onnx/batch-inputs.ts";
import type { StageBytes } from "../onnx/layered-model.ts";
import { digest } from "../spec/document/source.ts";
import { type InputsOf, runBatch } from "./measure.ts";
import { type PlannedVariant, type ProfilePlan, withDigest } from "./profile-plan.ts";
import type { ProfiledWorker } from "./profiled-worker.ts";

/** Layers `from` to `to` − 1 of a variant. */
export interface Segment {
  /** Unique among the models measured together. */
  readonly name: string;
  readonly variant: PlannedVariant;
  readonly from: number;
  readonly to: number;
}

export interface SegmentPlan {
  /** Variants followed by the segments, in order. */
  readonly plan: ProfilePlan;
  readonly segments: readonly Segment[];
}

/**
 * Extracts the segments and writes them to a folder.
 * @param plan with the variants they are measured with.
 */
export async function planSegments(
  plan: ProfilePlan,
  segments: readonly Segment[],
  folder: string,
): Promise<SegmentPlan> {
  const cut: PlannedVariant[] = [];
  for (const { name, variant, from, to } of segments) {
    assert(variant.layers !== null, "a variant that is cut has its layers");
    cut.push(await writtenModel(name, folder, variant.layers.stage(from, to)));
  }
  return { plan: withDigest({ ...plan, variants: [...plan.variants, ...cut] }), segments };
}

/**
 * Writes an additional model to a file that is named after its content, so names cannot collide.
 */
export async function writtenModel(
  name: string,
  folder: string,
  { bytes, inputs, outputs }: StageBytes,
): Promise<PlannedVariant> {
  const sha256 = digest(Buffer.from(bytes));
  const path = join(folder, `${sha256}.onnx`);
  await writeFile(path, bytes);
  const model = { file: name, sha256, inputs, outputs };
  return { name, accuracy: null, path, model, batches: [1], outputsAreRows: false, layers: null };
}

/**
 * Returns inputs for a plan with segments: random numbers at a model's start, and elsewhere the
 * outputs of the preceding layers, since a layer may take indices or shapes. Segments of a variant
 * begin at its first layer, or where others of them end.
 */
export async function segmentInputs(
  worker: Pick<ProfiledWorker, "run">,
  { plan, segments }: SegmentPlan,
): Promise<InputsOf> {
  const firstIndex = plan.variants.length - segments.length;
  const inputs: (readonly Uint8Array[])[] = plan.variants
    .slice(0, firstIndex)
    .map(({ model }) => randomInputs(model, 1, plan.seed));
  const valuesOf = new Map<PlannedVariant, Map<string, Uint8Array>>();
  const inOrder = [...segments.entries()].sort(([, a], [, b]) => a.from - b.from);
  for (const [index, { variant }] of inOrder) {
    const planned = plan.variants[firstIndex + index];
    assert(planned !== undefined, "a plan has a variant for each segment");
    const values = valuesOf.get(variant) ?? graphInputs(variant, plan.seed);
    valuesOf.set(variant, values);
    const own = planned.model.inputs.map(({ name }) => {
      const bytes = values.get(name);
      assert(bytes !== undefined, "layers take what layers before them give");
      return bytes;
    });
    inputs[firstIndex + index] = own;
    const batch = { variant: firstIndex + index, rows: 1, inputs: own.map((bytes) => [bytes]) };
    const { outputs } = await runBatch(worker, planned.name, batch);
    for (const [position, { name }] of planned.model.outputs.entries()) {
      const bytes = outputs[position]?.bytes;
      assert(bytes !== undefined, "a model gives every output that it has");
      values.set(name, bytes);
    }
  }
  return (variant) => inputs[variant] ?? [];
}

function graphInputs({ model }: PlannedVariant, seed: number): Map<string, Uint8Array> {
  const random = randomInputs(model, 1, seed);
  return new Map(model.inputs.map(({ name }, index) => [name, random[index] ?? new Uint8Array()]));
}
