import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { HISTORY_BEATS } from "../../../../../runtime/core/forecasters.ts";
import { openForecastModel } from "../../../../../runtime/methods/themis/serve/forecast-model.ts";

const pathOf = (file: string) => fileURLToPath(new URL(`../../../../../${file}`, import.meta.url));

test("opens the model of the package", async () => {
  const model = await openForecastModel(pathOf("runtime/models/lstm.onnx"));
  const qps = await model.forecast(new Float64Array(HISTORY_BEATS).fill(100));
  expect(qps).toBeGreaterThan(0);
  await model.close();
});

test.each([
  ["is missing", "runtime/models/gone.onnx", /gone\.onnx: expected the model .* no such file; /],
  ["is no model", "package.json", /package\.json: expected the model of predictor "lstm"/],
  ["is another model", "models/cascade/cnn-xl.onnx", /cnn-xl\.onnx: .* expected a forecaster/],
])("says so where the file %s", async (_, file, message) => {
  const refusal = openForecastModel(pathOf(file));
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.toMatchObject({ code: "RUNTIME_MODEL" });
});
