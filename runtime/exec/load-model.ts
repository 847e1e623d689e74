/** Loads a variant for what it is: an ONNX file, several in a row, a module, or a remote model. */
import type { VariantModel } from "./executor.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { ModuleModel } from "./module-model.ts";
import { OnnxChain } from "./onnx-chain.ts";
import { OnnxModel } from "./onnx-session.ts";
import { RemoteModel } from "./remote-model.ts";
import type { WorkerSetup } from "./worker-setup.ts";

/** @param onStep told what comes next, which may take long. @throws Error naming the variant. */
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
