/** Tasks that are code, from their files to answers, as their users make them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import { NUMBERS_MODULE } from "../support/host-modules.ts";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-host-"));
const running: ReturnType<typeof startStratagem>[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

writeFileSync(join(folder, "numbers.mjs"), NUMBERS_MODULE);
writeFileSync(join(folder, "identity.onnx"), identityModel(3));

/** @returns the path of a spec of these tasks. */
function specFile(name: string, tasks: readonly object[], policy: object): string {
  const path = join(folder, `${name}.json`);
  const spec = {
    version: 1,
    application: name,
    slo: { latency: "5 s" },
    workload: { loads: [1], arrivals: { process: "poisson" } },
    cluster: { workers: tasks.length },
    tasks,
    policy,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

function numbersTask(profile: string, more: object = {}): object {
  const variant = { name: "numbers", accuracy: 0.9, profile: `${profile}.json#numbers` };
  const module = { kind: "module", model: "./numbers.mjs", options: { factor: 2 } };
  return { name: "read", variants: [{ ...variant, ...module }], ...more };
}

async function succeed(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await stratagemHere(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

async function served(bundle: string): Promise<string> {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  return urlOf(child);
}

function ask(url: string, ...texts: string[]): Promise<Response> {
  const input = { name: "text", datatype: "BYTES", shape: [texts.length], data: texts };
  return fetch(url, { method: "POST", body: JSON.stringify({ inputs: [input] }) });
}

test("a module is profiled, compiled, simulated and served", async () => {
  const app = specFile("alone", [numbersTask("alone-profile")], { method: "ramsis", maxQueue: 4 });
  const profile = join(folder, "alone-profile.json");
  await succeed("profile", app, "-o", profile, "--batches", "1,2", "--repeat", "2", "--force");
  const bundle = join(folder, "alone.msgpack");
  await succeed("compile", app, "-o", bundle);
  await succeed("compile", app, "-o", bundle, "--check");
  await succeed("simulate", bundle, "--poisson", "1", "--duration", "5s");
  const infer = `${await served(bundle)}/v2/models/alone/infer`;

  const two = await ask(infer, "1 2 3", "4 5 6");
  expect([two.status, await two.json()]).toMatchObject([
    200,
    { outputs: [{ name: "x", datatype: "FP32", shape: [2, 3], data: [2, 4, 6, 8, 10, 12] }] },
  ]);
  const bad = await ask(infer, "1 2 3", "a cat");
  expect([bad.status, await bad.json()]).toEqual([
    400,
    { error: "numbers: expected three numbers (row 1 of the request)" },
  ]);
  const tired = await ask(infer, "throw");
  expect([tired.status, await tired.json()]).toEqual([500, { error: "numbers: it is tired" }]);
  expect((await ask(infer, "1 2 3")).status).toBe(200);
});

test("a module is a stage before a model", async () => {
  const variants = { numbers: { latencyMs: { 1: 5 } }, same: { latencyMs: { 1: 5 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "both.json"), JSON.stringify(profile));
  const same = { name: "same", accuracy: 0.9, profile: "both.json#same", model: "identity.onnx" };
  const tasks = [
    numbersTask("both", { to: [{ task: "repeat" }] }),
    { name: "repeat", variants: [same] },
  ];
  const bundle = join(folder, "stages.msgpack");
  await succeed("compile", specFile("stages", tasks, { method: "loki" }), "-o", bundle);
  const infer = `${await served(bundle)}/v2/models/stages/infer`;

  const two = await ask(infer, "1 2 3", "4 5 6");
  expect([two.status, await two.json()]).toMatchObject([
    200,
    { outputs: [{ name: "repeat.y", shape: [2, 3], data: [2, 4, 6, 8, 10, 12] }] },
  ]);
  const bad = await ask(infer, "a cat");
  expect([bad.status, await bad.json()]).toEqual([
    400,
    { error: "numbers: expected three numbers" },
  ]);
});
