/** A worker that is slower than its profile is found by a server under load, and told. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

/** It sleeps, and so takes much the same time whatever else the machine does. */
const TAKES_MS = 30;
const MODULE = `export default () => ({
  inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
  outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
  run({ x }) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${TAKES_MS});
    return { y: x };
  },
  batches: [1],
});
`;

const folder = mkdtempSync(join(tmpdir(), "stratagem-drift-"));
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => writeFileSync(join(folder, "takes-a-while.mjs"), MODULE));

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** The path of a bundle whose profile says that a row takes so long. */
function bundleOf(name: string, profiledMs: number): string {
  const profile = {
    format: "latency-profile/1",
    hardware: "test",
    variants: { one: { accuracy: 0.7, latencyMs: { 1: profiledMs } } },
  };
  writeFileSync(join(folder, `${name}-profile.json`), JSON.stringify(profile));
  const variant = { name: "one", kind: "module", model: "./takes-a-while.mjs" };
  const spec = {
    version: 1,
    application: name,
    slo: { latency: "2 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "wait", variants: [{ ...variant, profile: `${name}-profile.json#one` }] }],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  const bundle = join(folder, `${name}.msgpack`);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, `${name}.json`), "-o", bundle).stderr).toBe("");
  return bundle;
}

interface Served {
  readonly url: string;
  readonly child: ReturnType<typeof startStratagem>;
  /** Lines of its log that tell of promises. */
  readonly promises: string[];
}

async function serve(bundle: string): Promise<Served> {
  const where = ["--policy", bundle, "--http", "127.0.0.1:0", "--json", "--standby", "0"];
  const more = ["--ready-needs-promises", "--limit", "hoursPerFalseAlarm=1"];
  const child = startStratagem("serve", ...where, ...more);
  running.push(child);
  const promises: string[] = [];
  if (child.stderr !== null) {
    createInterface(child.stderr).on("line", (line) => {
      if (line.includes("promise")) promises.push(line);
    });
  }
  return { url: await urlOf(child), child, promises };
}

const BODY = JSON.stringify({
  inputs: [{ name: "x", datatype: "FP32", shape: [1, 1], data: [1] }],
});

/** One request after another until somebody has enough. @returns how many were answered. */
async function keepAsking({ url }: Served, name: string, isEnough: () => boolean): Promise<number> {
  let answered = 0;
  while (!isEnough()) {
    const reply = await fetch(`${url}/v2/models/${name}/infer`, { method: "POST", body: BODY });
    expect(reply.status).toBe(200);
    await reply.arrayBuffer();
    answered++;
  }
  return answered;
}

test("a worker 1.5 times as slow as its profile is found; one with room is not", async () => {
  const slow = await serve(bundleOf("slow", TAKES_MS / 1.5));
  // With room for what a busy machine does to a process that wants its core.
  const well = await serve(bundleOf("well", 2.5 * TAKES_MS));
  const isTold = () => slow.promises.some((line) => line.includes("service times"));
  const isEnough = () => isTold() || answers > 20_000;
  let answers = 0;
  const counted = () => {
    answers++;
    return isEnough();
  };
  await Promise.all([keepAsking(slow, "slow", counted), keepAsking(well, "well", isEnough)]);
  const [told = ""] = slow.promises.filter((line) => line.includes("service times"));
  expect(told).toMatch(/promise broken: service times: one takes 1\.[5-9]x its profile at batch 1/);
  expect(told).toMatch(/ since \d\d:\d\d:\d\d UTC, in \d+ batches; at most one false alarm in 1 h/);
  // Five blocks of five seconds, of batches of 30 ms.
  expect(Number(/in (\d+) batches/.exec(told)?.[1])).toBeLessThanOrEqual(1400);
  expect(well.promises.filter((line) => line.includes("service times"))).toEqual([]);

  const ready = async ({ url }: Served) => (await fetch(`${url}/v2/health/ready`)).status;
  expect(await ready(slow)).toBe(503);
  const metrics = await (await fetch(`${slow.url}/metrics`)).text();
  expect(metrics).toContain('stratagem_promise_holds{model="slow",promise="service_time"} 0');
  const times = await (await fetch(`${slow.url}/v2/stratagem/times`)).text();
  const [{ cells }] = JSON.parse(times).applications;
  expect(cells[0].ms.p50).toBeGreaterThan(TAKES_MS);
  writeFileSync(join(folder, "times.json"), times);

  for (const { child } of [slow, well]) {
    child.kill("SIGTERM");
    expect((await once(child, "exit"))[0]).toBe(0);
  }
});

test("what it measured makes a profile that holds, and a bundle of that one promises it", () => {
  const [before, after] = ["slow-profile.json", "new-profile.json"].map((file) =>
    join(folder, file),
  );
  const from = ["--from", join(folder, "times.json"), "-o", after ?? ""];
  expect(stratagem("profile", before ?? "", ...from).status).toBe(0);
  const profile = JSON.parse(readFileSync(after ?? "", "utf8"));
  // One number stays one number, of the percentile that it was.
  expect(profile.variants.one.latencyMs[1]).toBeGreaterThanOrEqual(TAKES_MS);
  const bundle = join(folder, "again.msgpack");
  const compiled = stratagem(
    "compile",
    join(folder, "slow.json"),
    ...["--profile", after ?? "", "-o", bundle],
  );
  expect(compiled.status).toBe(0);
  const inspected = stratagem("inspect", bundle, "--json");
  expect(inspected.stdout).toContain('"new-profile.json');
});

test("a server of that bundle keeps the promise that was broken", async () => {
  const again = await serve(join(folder, "again.msgpack"));
  let answers = 0;
  // As many as the broken one was found by at most.
  await keepAsking(again, "slow", () => ++answers > 1400 || again.promises.length > 0);
  expect(again.promises.filter((line) => line.includes("service times"))).toEqual([]);
  const metrics = await (await fetch(`${again.url}/metrics`)).text();
  expect(metrics).toContain('stratagem_promise_holds{model="slow",promise="service_time"} 1');
  again.child.kill("SIGTERM");
  expect((await once(again.child, "exit"))[0]).toBe(0);
});
