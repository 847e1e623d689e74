import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { initialParameters, partsOf } from "../../../../lab/models/forecast/lstm.ts";
import { lstmModelOf } from "../../../../lab/models/forecast/lstm-graph.ts";
import { HISTORY_BEATS } from "../../../../runtime/core/forecasters.ts";
import { Rng } from "../../../../runtime/core/rng.ts";
import {
  type OnnxForecaster,
  openOnnxForecaster,
} from "../../../../runtime/exec/onnx/onnx-forecaster.ts";
import { naiveForecast, weightsOf } from "../../../support/naive-lstm.ts";
import { identityModel } from "../../../support/onnx-model.ts";

const COMMITTED = fileURLToPath(new URL("../../../../runtime/models/lstm.onnx", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "onnx-forecaster-"));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, model: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, model);
  return path;
}

function randomOf(seed: number): () => number {
  const rng = new Rng(seed, 0);
  return () => rng.nextFloat();
}

/** A network that was never trained, with weights large enough for every gate to matter. */
function untrained(seed: number): string {
  const parameters = initialParameters(randomOf(seed)).map((weight) => 3 * weight);
  partsOf(parameters).denseBias[0] = 1;
  return written(`untrained-${seed}.onnx`, lstmModelOf(parameters));
}

const history = (qps: (second: number) => number): Float64Array =>
  Float64Array.from({ length: HISTORY_BEATS }, (_, second) => qps(second));
const counts = fc.array(fc.nat(2000), { minLength: HISTORY_BEATS, maxLength: HISTORY_BEATS });

describe("an ONNX forecaster", () => {
  let forecaster: OnnxForecaster;
  beforeAll(async () => {
    forecaster = await openOnnxForecaster(COMMITTED);
  });
  afterAll(() => forecaster.close());

  test.each([
    { name: "committed", path: () => COMMITTED },
    { name: "untrained", path: () => untrained(1) },
    { name: "other untrained", path: () => untrained(2) },
  ])("answers as the equations of the $name network do, to 1e-5", async ({ path }) => {
    const file = path();
    const weights = weightsOf(readFileSync(file));
    const other = await openOnnxForecaster(file);
    try {
      await fc.assert(
        fc.asyncProperty(counts, async (qps) => {
          const expected = naiveForecast(weights, qps);
          const found = await other.forecast(Float64Array.from(qps));
          // Float32 sums of the network's order of magnitude, which is the scale's.
          const size = Math.max(expected, Math.max(...qps) / 10);
          expect(Math.abs(found - expected)).toBeLessThanOrEqual(1e-5 * size);
        }),
      );
    } finally {
      await other.close();
    }
  });

  test("answers many as one by one, more than one run holds too", async () => {
    const random = randomOf(3);
    const rows = 4100;
    const histories = Float64Array.from({ length: rows * HISTORY_BEATS }, () =>
      Math.floor(300 * random()),
    );
    const together = await forecaster.forecastAll(histories);
    expect(together).toHaveLength(rows);
    for (const row of [0, 1, 4095, 4096, 4099]) {
      const start = row * HISTORY_BEATS;
      const alone = await forecaster.forecast(histories.subarray(start, start + HISTORY_BEATS));
      expect(together[row]).toBeCloseTo(alone, 3);
    }
    expect(await forecaster.forecastAll(new Float64Array(0))).toHaveLength(0);
  });

  test("forecasts as many times as much for a load as many times as high", async () => {
    await fc.assert(
      fc.asyncProperty(counts, fc.integer({ min: 2, max: 1000 }), async (qps, factor) => {
        const one = await forecaster.forecast(Float64Array.from(qps));
        const more = await forecaster.forecast(Float64Array.from(qps, (count) => factor * count));
        expect(Math.abs(more - factor * one)).toBeLessThanOrEqual(1e-5 * factor * one);
      }),
    );
  });

  test("expects next to nothing after nothing, and knows nothing of the unknown", async () => {
    expect(await forecaster.forecast(history(() => 0))).toBeCloseTo(0, 5);
    expect(await forecaster.forecast(history(() => Number.NaN))).toBeNaN();
  });

  test("takes windows without a known beat for the next known one, or the last", async () => {
    const windows = [30, 30, 30, 50, 20, 20];
    const filled = await forecaster.forecast(history((at) => windows[Math.floor(at / 10)] ?? 0));
    const known = (at: number): number =>
      at === 27 ? 30 : at === 31 ? 50 : at === 44 ? 20 : Number.NaN;
    expect(await forecaster.forecast(history(known))).toBe(filled);
  });

  test("leaves the rows beside an unknown one as they are, and the argument too", async () => {
    const some = history((at) => 50 + (at % 7));
    const unknown = history(() => Number.NaN);
    const short = history((at) => (at < 35 ? Number.NaN : 80));
    const rows = Float64Array.of(...some, ...unknown, ...short);
    const before = rows.slice();
    const [first, second, third] = await forecaster.forecastAll(rows);
    expect(rows).toEqual(before);
    expect(second).toBeNaN();
    expect(first).toBeCloseTo(await forecaster.forecast(some), 4);
    expect(third).toBeCloseTo(await forecaster.forecast(history(() => 80)), 4);
  });

  test("refuses a history of another length", async () => {
    await expect(forecaster.forecast(new Float64Array(120))).rejects.toThrow("60 beats");
    await expect(forecaster.forecastAll(new Float64Array(90))).rejects.toThrow("60 beats");
  });
});

test("forecasts no more once it is closed", async () => {
  const forecaster = await openOnnxForecaster(COMMITTED);
  await forecaster.close();
  await expect(forecaster.forecast(history(() => 50))).rejects.toThrow();
});

describe("opening", () => {
  test("refuses a model of something else, and says what was expected", async () => {
    const path = written("identity.onnx", identityModel(60));
    await expect(openOnnxForecaster(path)).rejects.toThrow(
      `${path}: expected a forecaster, history float32 [batch, 60] to forecast float32 [batch, 1]`,
    );
  });

  test("refuses what is no model and what is not there", async () => {
    const path = written("broken.onnx", Uint8Array.of(1, 2, 3));
    await expect(openOnnxForecaster(path)).rejects.toThrow(path);
    const missing = join(folder, "missing.onnx");
    await expect(openOnnxForecaster(missing)).rejects.toThrow(missing);
  });
});
