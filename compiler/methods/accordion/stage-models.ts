/** Stages of the models of an Accordion bundle, cut from the models of the application. */
import { createHash } from "node:crypto";
import type {
  AccordionBundle,
  MalleableVariant,
  StageModel,
  TensorInfo,
} from "stratagem-runtime/internal/bundle/schema";
import type { Application, Variant } from "../../spec/application.ts";
import { conflict, type Mistake } from "../../spec/document/mistakes.ts";
import { profileFor } from "../../spec/pool-profiles.ts";
import type { BundleFile } from "../method.ts";

/** A model that can be cut between any two of its layers. */
export interface LayeredModel {
  readonly layerCount: number;
  /**
   * Layers `from` to `to` − 1 as a model of one instance; the same arguments give the same bytes.
   */
  stage(
    from: number,
    to: number,
  ): {
    readonly bytes: Uint8Array;
    readonly inputs: readonly TensorInfo[];
    readonly outputs: readonly TensorInfo[];
  };
}

interface CutBundle {
  readonly bundle: AccordionBundle;
  readonly files: readonly BundleFile[];
}

/** Digits of a stage's SHA-256 in its file name. */
const NAMED_DIGITS = 12;

/** Returns whether a model is cut: it has a file, and its layers were measured on every pool. */
export function isCut(variant: Variant, { cluster }: Pick<Application, "cluster">): boolean {
  const profiles = cluster.pools.map((pool) => profileFor(variant, pool));
  return variant.model !== null && profiles.every((profile) => (profile?.layers ?? null) !== null);
}

/**
 * Cuts the stages of all pipelines, each stage once.
 * @param layered the models, by the path in the application.
 */
export function withStages(
  bundle: AccordionBundle,
  { tasks }: Pick<Application, "tasks">,
  layered: ReadonlyMap<string, LayeredModel>,
): CutBundle | Mistake {
  const files: BundleFile[] = [];
  const variants: MalleableVariant[] = [];
  for (const [index, variant] of (bundle.tasks[0]?.variants ?? []).entries()) {
    const path = tasks[0]?.variants[index]?.model ?? null;
    const model = path === null || variant.model === null ? undefined : layered.get(path);
    if (model === undefined) {
      variants.push(variant);
      continue;
    }
    const stages: StageModel[] = [];
    for (const { from, to } of rangesOf(variant)) {
      const { bytes, inputs, outputs } = model.stage(from, to);
      const open = outputs.find(({ shape }) => shape.includes(-1));
      if (open !== undefined) {
        const message =
          `the size of output "${open.name}", [${open.shape}], ` +
          "changes with the data; expected a model whose sizes for one instance are fixed";
        return conflict(["tasks", 0, "variants", index, "model"], message);
      }
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      // The digest in the name keeps a stage from overwriting that of another bundle or of a
      // running server.
      const file = `${variant.name}.${from}-${to}.${sha256.slice(0, NAMED_DIGITS)}.onnx`;
      files.push({ file, sha256, bytes: () => model.stage(from, to).bytes });
      stages.push({ from, to, model: { file, sha256, inputs, outputs } });
    }
    variants.push({ ...variant, stages });
  }
  return {
    bundle: { ...bundle, tasks: bundle.tasks.map((task) => ({ ...task, variants })) },
    files,
  };
}

/** Layer ranges of the stages of all pipelines, each once, ascending. */
function rangesOf({
  pipelines,
}: MalleableVariant): { readonly from: number; readonly to: number }[] {
  const ranges = new Map<string, { readonly from: number; readonly to: number }>();
  for (const pipeline of pipelines) {
    let from = 0;
    for (const layers of pipeline?.cut ?? []) {
      const to = from + layers;
      ranges.set(`${from}-${to}`, { from, to });
      from = to;
    }
  }
  return [...ranges.values()].sort((a, b) => a.from - b.from || a.to - b.to);
}
