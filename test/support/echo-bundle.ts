/** An application of one variant that repeats rows of three numbers, compiled into a folder. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { identityModel } from "./onnx-model.ts";
import { stratagem } from "./run-cli.ts";

/** @returns the path of its bundle. @throws Error with what the command says. */
export function compileEcho(folder: string, workers = 1): string {
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const variant = { name: "small", profile: "profile.json#small", model: "identity.onnx" };
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers },
    tasks: [{ name: "classify", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(join(folder, "identity.onnx"), identityModel(3));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  const bundle = join(folder, "bundle.msgpack");
  const { stderr } = stratagem("compile", join(folder, "app.json"), "-o", bundle);
  if (stderr !== "") throw new Error(stderr);
  return bundle;
}
