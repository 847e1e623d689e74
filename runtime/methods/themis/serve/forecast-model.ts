/** Model that predicts the traffic of bundles whose predictor is "lstm": part of this package. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { RuntimeError } from "../../../base/errors.ts";
import { type OnnxForecaster, openOnnxForecaster } from "../../../exec/onnx/onnx-forecaster.ts";

/** Below the folder of the package, wherever this file was built to. */
function packagedModel(): string {
  const description = createRequire(import.meta.url).resolve("stratagem-runtime/package.json");
  return join(dirname(description), "models", "lstm.onnx");
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
