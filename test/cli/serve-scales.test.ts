import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CascadeRow,
  expectedOutputs,
  writeModels,
} from "../runtime/server/graph/served-tasks.ts";
import { ofOneModel } from "../support/metrics-text.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-scales-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => {
  const variants = Object.fromEntries(
    [
      ["gate", 2],
      ["slow", 20],
      ["last", 1],
    ].map(([name, ms]) => {
      const [gamma, rest] = [Number(ms), Number(ms) / 10];
      return [name, { accuracy: 0.9, fit: { gamma, epsilon: rest, delta: rest, eta: rest } }];
    }),
  );
  const spec = {
    version: 1,
    application: "cascade",
    slo: { latency: "5 s" },
    workload: { loads: [20, 60], arrivals: { process: "poisson" } },
    cluster: { pools: [{ name: "cores", hardware: "test", workers: 3, cores: 2 }] },
    tasks: [
      {
        name: "gate",
        variants: [{ name: "gate", profile: "profile.json#gate", model: "gate.onnx" }],
        to: [
          { task: "slow", share: 0.4, count: "escalate" },
          { task: "last", share: 0.6, count: "keep", inputs: { value: "quick" } },
        ],
      },
      {
        name: "slow",
        variants: [{ name: "slow", profile: "profile.json#slow", model: "slow.onnx" }],
        to: [{ task: "last", inputs: { value: "score" } }],
      },
      {
        name: "last",
        variants: [{ name: "last", profile: "profile.json#last", model: "last.onnx" }],
      },
    ],
    policy: { method: "themis", predictor: "lstm", maxBatch: 4, maxCores: 2, quantile: 0.9 },
  };
  writeModels(folder);
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, "app.json"), "-o", bundle).stderr).toBe("");
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts a server on any port. @returns what it says when it is ready, up to a pattern. */
async function serve(ready: RegExp, ...flags: string[]) {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", ...flags);
  running.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (ready.test(text)) break;
  }
  return { child, text };
}

const ROWS: readonly CascadeRow[] = [
  { escalate: 1, keep: 0, value: 3 },
  { escalate: 0, keep: 1, value: 4 },
  { escalate: 0, keep: 0, value: 5 },
];

test("serves a compiled cascade with the packaged model's forecasts until told", async () => {
  const { child, text } = await serve(/\n}/, "--json");
  const { url, stages, workers } = JSON.parse(text);
  expect(stages.map(({ task }: { task: string }) => task)).toEqual(["gate", "slow", "last"]);
  const data = ROWS.map(({ escalate, keep, value }) => [escalate, keep, value]);
  const reply = await fetch(`${url}/v2/models/cascade/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [3, 3], data }] }),
  });
  const expected = expectedOutputs(ROWS);
  expect(await reply.json()).toMatchObject({
    parameters: { variant: "gate:1,last:2" },
    outputs: ["gate.escalate", "gate.keep", "last.total"].map((name) => ({
      name,
      data: expected[name],
    })),
  });
  const gaugeOf = async (name: string) => {
    const metrics = ofOneModel(await (await fetch(`${url}/metrics`)).text());
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1]);
  };
  expect(await gaugeOf('stratagem_workers{state="total"}')).toBe(workers);
  expect(await gaugeOf('stratagem_cores{state="limit"}')).toBe(6);
  // The last second held three requests, and the model says another number.
  while (!((await gaugeOf("stratagem_forecast_qps")) > 0)) await new Promise(setImmediate);
  while (Number.isInteger(await gaugeOf("stratagem_forecast_qps"))) {
    await new Promise(setImmediate);
  }
  let notices = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    notices += String(chunk);
  });
  child.kill("SIGHUP");
  while (!/serving it as it is now/.test(notices)) {
    await once(child.stderr ?? new EventEmitter(), "data");
  }
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});
