/** Checks that the models of a spec fit each other before any of them is measured. */
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { FeedKind } from "../model/model-feeds.ts";
import type { ModelledTask } from "../model/model-files.ts";
import { modelKey } from "../model/model-files.ts";
import { modelFitMistakes } from "../model/model-fit.ts";
import type { Binding } from "../spec/binding.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { ApplicationSpec } from "../spec/schema/application-schema.ts";

/** Variant of the spec, as planned. */
export interface PlannedUse {
  readonly path: string;
  readonly binding: Binding | undefined;
}

/**
 * @param useOf returns how a variant is used, by its place in the spec; null if it is not measured.
 * @param models by the use that `useOf` returns.
 */
export function plannedFitMistakes(
  { tasks }: ApplicationSpec,
  feeds: FeedKind,
  useOf: (task: number, variant: number) => PlannedUse | null,
  models: readonly { readonly use: PlannedUse; readonly model: ModelFile }[],
): Iterable<Mistake> {
  const byKey = new Map(models.map(({ use, model }) => [modelKey(use.path, used(use)), model]));
  const modelled = tasks.map(({ name, variants, to }, task): ModelledTask => {
    return {
      name,
      variants: variants.map((variant, index) => {
        const use = useOf(task, index);
        return { name: variant.name, model: use?.path ?? null, ...(use === null ? {} : used(use)) };
      }),
      to: to.map(({ task: child, share, inputs, count, gather }) => {
        const edge = { task: child, share, inputs: inputs ?? null, count: count ?? null };
        return gather === undefined ? edge : { ...edge, gather };
      }),
    };
  });
  return modelFitMistakes({ tasks: modelled }, byKey, feeds);
}

function used({ binding }: PlannedUse): { readonly binding?: Binding } {
  return binding === undefined ? {} : { binding };
}
