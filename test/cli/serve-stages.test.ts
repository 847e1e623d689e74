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
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-stages-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => {
  const variants = Object.fromEntries(
    [
      ["gate", 5],
      ["slow", 40],
      ["last", 2],
    ].map(([name, ms]) => [name, { accuracy: 0.9, latencyMs: { 1: ms, 4: 2 * Number(ms) } }]),
  );
  const spec = {
    version: 1,
    application: "cascade",
    slo: { latency: "5 s" },
    workload: { loads: [20], arrivals: { process: "poisson" } },
    cluster: { pools: [{ name: "cores", hardware: "test", workers: 6, pricePerHour: 0.1 }] },
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
    policy: { method: "inferline", sampleDuration: "20 s" },
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

test("serves a compiled cascade, says what runs where, and refuses another bundle", async () => {
  const { child, text } = await serve(/\n}/, "--json");
  const { url, stages } = JSON.parse(text);
  expect(stages.map(({ task, hardware }: Record<string, string>) => [task, hardware])).toEqual([
    ["gate", "test"],
    ["slow", "test"],
    ["last", "test"],
  ]);
  const rows: CascadeRow[] = [
    { escalate: 1, keep: 0, value: 3 },
    { escalate: 0, keep: 1, value: 4 },
    { escalate: 0, keep: 0, value: 5 },
  ];
  const data = rows.map(({ escalate, keep, value }) => [escalate, keep, value]);
  const reply = await fetch(`${url}/v2/models/cascade/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [3, 3], data }] }),
  });
  const expected = expectedOutputs(rows);
  expect(await reply.json()).toMatchObject({
    parameters: { variant: "gate:1,last:2" },
    outputs: ["gate.escalate", "gate.keep", "last.total"].map((name) => ({
      name,
      data: expected[name],
    })),
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const planned = stages.reduce((sum: number, { replicas }: { replicas: number }) => {
    return sum + replicas;
  }, 0);
  expect(metrics).toContain(`stratagem_cost_per_hour ${(0.1 * planned).toFixed(1)}\n`);
  let notices = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    notices += String(chunk);
  });
  child.kill("SIGHUP");
  while (!/not followed, .*not exchanged while it is served/.test(notices)) {
    await once(child.stderr ?? new EventEmitter(), "data");
  }
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("says in words what runs where", async () => {
  const { text } = await serve(/\n {2}last: .*\n/);
  expect(text).toMatch(
    /^serving .*: 6 workers on cpu\n {2}gate: \d replicas? planned for test, .*\n {2}slow: /,
  );
});
