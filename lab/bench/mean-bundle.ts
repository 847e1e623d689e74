/** What benches serve: a model of 0.02 ms, one worker, and a load far beyond both. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { meanModel } from "../../test/support/onnx-model.ts";
import { compiled } from "../experiments/harness/cli.ts";

/** Its name, and that of the application. */
export const MODEL = "mean";

/** @param width Float32 numbers in a row. @returns the path of the bundle. */
export async function meanBundle(folder: string, width: number, latency: string): Promise<string> {
  const model = join(folder, "mean.onnx");
  writeFileSync(model, meanModel(width, 10));
  const variants = { [MODEL]: { accuracy: 0.5, latencyMs: { 1: 0.3, 32: 1, 400: 8 } } };
  const profile = { format: "latency-profile/1", hardware: "assumed", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const variant = { name: MODEL, model, profile: `profile.json#${MODEL}` };
  const spec = {
    version: 1,
    application: MODEL,
    slo: { latency },
    workload: { loads: [10_000], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "only", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 400 },
  };
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  return (await compiled("ramsis", join(folder, "app.json"))).path;
}
