/** What `compile` does for bundles whose models are cut: it opens the models, cuts the stages, and writes them beside the bundle or compares them. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import type { WrittenFile } from "../../atomic-write.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { invalid } from "../../spec/mistakes.ts";
import { isCut, type LayeredModel, type StageFile, withStages } from "./stage-models.ts";

/** Models that are to be cut, by the path the application gives. What reads ONNX files is loaded only if there are any. @throws InputError for a model that cannot be cut. */
export async function openLayers({
  application,
  fail,
}: LoadedApplication): Promise<Map<string, LayeredModel>> {
  const layered = new Map<string, LayeredModel>();
  if (application.policy.method !== "accordion") return layered;
  for (const [task, { variants }] of application.tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      const { model } = variant;
      if (model === null || layered.has(model) || !isCut(variant, application)) continue;
      const { openLayeredModel } = await import("../../onnx/layered-model.ts");
      const { OnnxModelError } = await import("../../onnx/onnx-model-error.ts");
      const { probeTensors } = await import("../../../runtime/exec/probe-tensors.ts");
      try {
        layered.set(model, await openLayeredModel(model, probeTensors));
      } catch (error) {
        if (!(error instanceof OnnxModelError)) throw error;
        const path = ["tasks", task, "variants", index, "model"];
        fail(invalid(path, "a model that can be cut into layers", error.message));
      }
    }
  }
  return layered;
}

/** The bundle with its stages, and their files. @throws InputError for a model whose stages cannot be served. */
export function cutStages(
  { application, fail }: LoadedApplication,
  bundle: Bundle,
  layered: ReadonlyMap<string, LayeredModel>,
): { readonly bundle: Bundle; readonly files: readonly StageFile[] } {
  if (bundle.method !== "accordion") return { bundle, files: [] };
  const cut = withStages(bundle, application, layered);
  return "code" in cut ? fail(cut) : cut;
}

/** Where stages are written: beside the bundle. */
export function stagePaths(out: string, files: readonly StageFile[]): WrittenFile[] {
  return files.map(({ file, bytes }) => ({ path: join(dirname(out), file), bytes }));
}

/** Names of the stages that are not there, or not as they would be written. */
export async function stagesThatDiffer(
  out: string,
  files: readonly StageFile[],
): Promise<readonly string[]> {
  const differ: string[] = [];
  for (const { file, sha256 } of files) {
    const bytes = await readFile(join(dirname(out), file)).catch(() => null);
    const found = bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
    if (found !== sha256) differ.push(file);
  }
  return differ;
}
