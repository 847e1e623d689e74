/** Tasks that are code, from their files to answers, as their users make them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TRIES_ALL } from "../support/cases.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { refusedHere } from "../support/compile-here.ts";
import { NUMBERS_MODULE } from "../support/host-modules.ts";
import { identityModel } from "../support/onnx-model.ts";
import { withoutProgress } from "../support/progress-lines.ts";
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
    workload: { loads: [2], arrivals: { process: "poisson" } },
    cluster: {
      pools: [{ name: "all", hardware: "test", workers: tasks.length, cores: 1, pricePerHour: 1 }],
    },
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
  expect({ status, stderr: withoutProgress(stderr) }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

async function served(...bundles: string[]): Promise<string> {
  const policies = bundles.flatMap((bundle) => ["--policy", bundle]);
  const means = ["--no-means-check", "--standby", "0"];
  const child = startStratagem("serve", ...policies, "--http", "127.0.0.1:0", "--json", ...means);
  running.push(child);
  return urlOf(child);
}

function ask(url: string, ...texts: string[]): Promise<Response> {
  const input = { name: "text", datatype: "BYTES", shape: [texts.length], data: texts };
  return fetch(url, { method: "POST", body: JSON.stringify({ inputs: [input] }) });
}

const MEASURED = { latencyMs: { 1: 5 }, byCores: { 1: { 1: 5 } } };
const BOTH = { numbers: MEASURED, same: MEASURED };
const PROFILE = { format: "latency-profile/1", hardware: "test", variants: BOTH };
writeFileSync(join(folder, "both.json"), JSON.stringify(PROFILE));

/** Compiles a module before a model. @returns the path of the bundle. */
async function stages(policy: { readonly method: string }): Promise<string> {
  const same = { name: "same", accuracy: 0.9, profile: "both.json#same", model: "identity.onnx" };
  const read = numbersTask("both", { to: [{ task: "repeat" }] });
  const { method } = policy;
  const bundle = join(folder, `${method}.msgpack`);
  const app = specFile(method, [read, { name: "repeat", variants: [same] }], policy);
  await succeed("compile", app, "-o", bundle);
  return bundle;
}

/** Profiles and compiles a module by itself. @returns the path of the bundle. */
async function alone(): Promise<string> {
  const app = specFile("alone", [numbersTask("alone-profile")], { method: "ramsis", maxQueue: 4 });
  const profile = join(folder, "alone-profile.json");
  const quick = ["--repeat", "2", "--force", "--hardware", "test"];
  await succeed("profile", app, "-o", profile, "--batches", "1,2", ...quick);
  const bundle = join(folder, "alone.msgpack");
  await succeed("compile", app, "-o", bundle);
  await succeed("compile", app, "-o", bundle, "--check");
  return bundle;
}

/** A part in `npm test`, and all of them in `npm run test:system`. */
const POLICIES = [
  { method: "loki" },
  { method: "inferline", sampleDuration: "100 s" },
  { method: "themis", maxBatch: 1, maxCores: 1 },
].slice(0, TRIES_ALL ? 3 : 1);
const DOUBLED = [2, 4, 6, 8, 10, 12];
let url: string;
beforeAll(async () => {
  const bundles = [await alone()];
  for (const policy of POLICIES) bundles.push(await stages(policy));
  url = await served(...bundles);
}, 120_000);

test("a module is served by itself", async () => {
  const infer = `${url}/v2/models/alone/infer`;
  const two = await ask(infer, "1 2 3", "4 5 6");
  expect([two.status, await two.json()]).toMatchObject([
    200,
    { outputs: [{ name: "x", datatype: "FP32", shape: [2, 3], data: DOUBLED }] },
  ]);
  const headers = { "inference-header-content-length": "0" };
  const raw = await fetch(infer, { method: "POST", body: "1 2 3", headers });
  expect(await raw.json()).toMatchObject({ outputs: [{ shape: [1, 3], data: [2, 4, 6] }] });
  const bad = await ask(infer, "1 2 3", "a cat");
  expect([bad.status, await bad.json()]).toEqual([
    400,
    { error: "numbers: expected three numbers (row 1 of the request)" },
  ]);
  const tired = await ask(infer, "throw");
  expect([tired.status, await tired.json()]).toEqual([500, { error: "numbers: it is tired" }]);
  expect((await ask(infer, "1 2 3")).status).toBe(200);
});

test.each(POLICIES)("a module is a stage: $method", async ({ method }) => {
  const infer = `${url}/v2/models/${method}/infer`;
  const two = await ask(infer, "1 2 3", "4 5 6");
  expect([two.status, await two.json()]).toMatchObject([
    200,
    { outputs: [{ shape: [2, 3], data: DOUBLED }] },
  ]);
  const bad = await ask(infer, "a cat");
  expect([bad.status, await bad.json()]).toEqual([
    400,
    { error: "read/numbers: expected three numbers" },
  ]);
});

test.runIf(TRIES_ALL)("a model of another server is compiled and served", async () => {
  const variant = { name: "far", accuracy: 0.9, profile: "far-profile.json#far", kind: "remote" };
  const variants = [{ ...variant, url, model: "alone" }];
  const app = specFile("far", [{ name: "far", variants }], { method: "ramsis", maxQueue: 4 });
  const profile = join(folder, "far-profile.json");
  // What is no text of three numbers it refuses, so it cannot be measured with random text.
  const measured = await stratagemHere("profile", app, "-o", profile, "--batches", "1");
  expect(measured.stderr).toMatch(/remote http:.*\/alone\/infer answered 400: numbers: expected/);
  const far = { format: "latency-profile/1", hardware: "test", variants: { far: MEASURED } };
  writeFileSync(profile, JSON.stringify(far));
  const bundle = join(folder, "far.msgpack");
  await succeed("compile", app, "-o", bundle);
  const infer = `${await served(bundle)}/v2/models/far/infer`;
  const two = await ask(infer, "1 2 3", "4 5 6");
  expect([two.status, await two.json()]).toMatchObject([
    200,
    { outputs: [{ name: "x", shape: [2, 3], data: DOUBLED }] },
  ]);
  const bad = await ask(infer, "a cat");
  expect([bad.status, await bad.json()]).toEqual([
    400,
    { error: expect.stringMatching(/^far: remote http.*\/alone\/infer answered 400: numbers:/) },
  ]);
});

test("accordion refuses what it cannot cut", async () => {
  const policy = { method: "accordion", maxDepth: 1, maxBatch: 8, meanBatch: 2 };
  const app = specFile("cut", [numbersTask("both")], policy);
  const { status, stderr } = await refusedHere(app, join(folder, "cut.msgpack"));
  expect({ status, stderr }).toMatchObject({
    status: 65,
    stderr: expect.stringContaining(
      "tasks[0].variants[0].kind: expected an ONNX model, since accordion cuts models, " +
        "got kind: module, which has no layers",
    ),
  });
});
