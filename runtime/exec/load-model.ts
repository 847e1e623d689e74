/** Loads a variant for what it is: an ONNX file, an ES module, or a model of another server. */
import type { VariantModel } from "./executor.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { ModuleModel } from "./module-model.ts";
import { OnnxModel, type WorkerSetup } from "./onnx-session.ts";
import { RemoteModel } from "./remote-model.ts";

/** @param onStep told what comes next, which may take long. @throws Error naming the variant. */
export function loadModel(
  variant: VariantModel,
  cores: number,
  setup: WorkerSetup,
  onStep: (step: string) => void,
): Promise<LoadedModel> {
  const { module, remote } = variant;
  if (module !== undefined) return ModuleModel.load(variant, module, cores, onStep);
  if (remote !== undefined) return RemoteModel.load(variant, remote, cores, onStep);
  return OnnxModel.load(variant, cores, setup, onStep);
}
