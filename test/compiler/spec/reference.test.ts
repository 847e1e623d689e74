import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { readTrace } from "../../../compiler/spec/trace.ts";
import { folderOf } from "./spec-folder.ts";

const { STRATAGEM_REFERENCE: reference = "" } = process.env;
const withReference = test.skipIf(reference === "");
const SKIPPED = "(skipped unless STRATAGEM_REFERENCE names the folder of reference data)";

function loadMade(args: readonly string[]) {
  const out = folderOf({ "made.txt": "" });
  const script = join(reference, "apps.mjs");
  execFileSync(process.execPath, [script, ...args, "--out", out]);
  return loadApplication(join(out, "app.yaml")).application;
}

withReference(`parses every RAMSIS spec of the reference ${SKIPPED}`, () => {
  for (const task of ["image", "text"]) {
    const policy = JSON.stringify({ objective: "per-decision", balancer: "round-robin" });
    const args = ["ramsis", "--task", task, "--workers", "60", "--slo", "150"];
    const application = loadMade([...args, "--loads", "2000,3200", "--policy", policy]);
    expect(application.policy).toMatchObject({ method: "ramsis", objective: "per-decision" });
    expect(application.tasks[0]?.variants.every(({ profile }) => profile.rows.length === 33)).toBe(
      true,
    );
  }
});

withReference(`parses every Loki spec of the reference ${SKIPPED}`, () => {
  const inputs = readdirSync(join(reference, "loki/inputs"));
  expect(inputs.length).toBeGreaterThan(0);
  for (const input of inputs) {
    const args = ["loki", "--input", `loki/inputs/${input}`, "--loads", "25,50"];
    expect(loadMade(args).policy).toMatchObject({ method: "loki", accuracyOf: { kind: "table" } });
  }
});

withReference(`parses every Themis spec of the reference ${SKIPPED}`, () => {
  for (const pipeline of ["video", "sentiment", "nlp"]) {
    const policy = JSON.stringify({ queueing: "paper" });
    const args = ["themis", "--pipeline", pipeline, "--loads", "3,10", "--policy", policy];
    expect(loadMade(args).policy).toMatchObject({ method: "themis", queueing: "paper" });
  }
});

withReference(`reads every trace of the reference ${SKIPPED}`, () => {
  const read = (name: string) => readTrace(join(reference, "traces", name));
  expect(read("twitter-2018-04-25-5min.txt")).toMatchObject({ kind: "rates", endMs: 270_000 });
  const counts = read("twitter-2021-08-counts-per-second.txt.gz");
  expect(counts).toMatchObject({ kind: "rates", endMs: 1_209_600_000 });
  for (const [name, arrivalCount] of [
    ["AzureLLMInferenceTrace_code.csv", 8819],
    ["AzureLLMInferenceTrace_conv.csv", 19_366],
  ] as const) {
    const trace = read(name);
    expect(trace.kind === "arrivals" && trace.arrivalMs.length).toBe(arrivalCount);
  }
});
