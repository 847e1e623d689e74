/**
 * The model that foretells the traffic where a bundle's predictor is "lstm": part of this package.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RuntimeError } from "../../../errors.ts";
import { type OnnxForecaster, openOnnxForecaster } from "../../../exec/onnx-forecaster.ts";

/** Below the folder of the package, wherever this file was built to. */
function packagedModel(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && folder !== dirname(folder)) {
    folder = dirname(folder);
  }
  return join(folder, "models", "forecast", "lstm.onnx");
}

/**
 * @param path of the model.
 * @throws RuntimeError RUNTIME_MODEL if it is missing or not a forecaster.
 */
export async function openForecastModel(path = packagedModel()): Promise<OnnxForecaster> {
  const expected = `${path}: expected the model of predictor "lstm", which is part of this package`;
  const remedy = "install the package anew, or compile with another policy.predictor";
  if (!existsSync(path)) {
    throw new RuntimeError("RUNTIME_MODEL", `${expected}, got: no such file; ${remedy}`);
  }
  try {
    return await openOnnxForecaster(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RuntimeError("RUNTIME_MODEL", `${expected}, got: ${reason}; ${remedy}`);
  }
}
