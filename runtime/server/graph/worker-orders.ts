/** Orders to workers: the variants to load and the number of cores. */
import type { AssignedExecutor } from "../../exec/models/executor.ts";
import type { PipelineCommand } from "./pipeline-recording.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";
import type { WorkerModels } from "./worker-models.ts";

type WorkerOrder = Extract<PipelineCommand, { readonly kind: "assign" | "resize" | "release" }>;

interface Ordered {
  readonly models: WorkerModels;
  readonly signature: PipelineSignature;
  /** Whether a worker of a task holds all its variants, for batches that choose among them. */
  readonly holdsAllVariants: (task: number) => boolean;
  /** Undefined before it exists; no worker gets orders then. */
  readonly executor: AssignedExecutor | undefined;
}

/** Marks at once what the worker is to hold. @returns what has it done. */
export function marked(order: WorkerOrder, ordered: Ordered): () => void {
  const { models, executor } = ordered;
  const { worker } = order;
  if (order.kind === "assign") {
    models.assign(worker, order.variant, order.cores);
    const variants = variantsFor(order.variant, ordered);
    return () => executor?.assign(worker, variants, order.cores);
  }
  if (order.kind === "resize") {
    models.resize(worker, order.cores);
    return () => executor?.resize(worker, order.cores);
  }
  models.release(worker);
  return () => executor?.release(worker);
}

/** Returns the variants to load for a worker that is assigned one of them. */
function variantsFor(
  variant: number,
  { signature, holdsAllVariants }: Pick<Ordered, "signature" | "holdsAllVariants">,
): number[] {
  const { variants } = signature;
  const { task } = at(variants, variant);
  if (!holdsAllVariants(task)) return [variant];
  return [...variants.keys()].filter((other) => at(variants, other).task === task);
}
