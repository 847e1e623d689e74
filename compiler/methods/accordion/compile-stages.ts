/** What `compile` does with models that are to be cut: it opens them, and cuts the stages. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import type { AccordionPolicy } from "../../spec/application.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { invalid } from "../../spec/mistakes.ts";
import type { ModelProber, OpenedModels } from "../method.ts";
import { accordion } from "./solve/accordion.ts";
import { isCut, type LayeredModel, withStages } from "./stage-models.ts";

type Loaded = LoadedApplication<AccordionPolicy>;

/** @throws InputError for a model that cannot be cut. */
export async function openModels(
  loaded: Loaded,
  prober: ModelProber,
): Promise<OpenedModels<AccordionBundle>> {
  const { application, fail } = loaded;
  const layered = await openLayers(loaded, prober);
  return {
    mistakes() {
      const counts = [...layered].map(([path, { layerCount }]) => [path, layerCount] as const);
      return accordion.layerCountMistakes(application, new Map(counts));
    },
    cut(bundle) {
      const cut = withStages(bundle, application, layered);
      return "code" in cut ? fail(cut) : cut;
    },
  };
}

/**
 * Models that are to be cut, by the path the application gives. What reads ONNX files is loaded
 * only if there are any.
 */
async function openLayers(
  { application, fail }: Loaded,
  { probe }: ModelProber,
): Promise<Map<string, LayeredModel>> {
  const layered = new Map<string, LayeredModel>();
  for (const [task, { variants }] of application.tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      const { model } = variant;
      if (model === null || layered.has(model) || !isCut(variant, application)) continue;
      const path = ["tasks", task, "variants", index, "model"];
      if (variant.chain !== undefined) {
        fail(invalid(path, "a model that can be cut into layers", `${variant.chain.length} files`));
      }
      const { openLayeredModel } = await import("../../onnx/layered-model.ts");
      const { OnnxModelError } = await import("../../onnx/onnx-model-error.ts");
      try {
        layered.set(model, await openLayeredModel(model, probe));
      } catch (error) {
        if (!(error instanceof OnnxModelError)) throw error;
        fail(invalid(path, "a model that can be cut into layers", error.message));
      }
    }
  }
  return layered;
}
