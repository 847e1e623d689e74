/**
 * Several SLOs from spec to served: one application of two classes, compiled, checked, simulated,
 * inspected, served and put under load.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { ofOneModel } from "../support/metrics-text.ts";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-classes-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

/**
 * The large variant is said to take 150 ms: more than the short class has, and little to the long
 * one.
 */
const LARGE_MS = 150;
const SPEC = {
  version: 1,
  application: "echo",
  slo: {
    classes: [
      { name: "short", latency: "100 ms", share: "95%" },
      { name: "long", latency: "3 s", share: "5%" },
    ],
  },
  workload: { loads: [50], arrivals: { process: "poisson" } },
  cluster: { workers: 2 },
  tasks: [
    {
      name: "classify",
      variants: [
        { name: "small", profile: "profile.json#small", model: "identity.onnx" },
        { name: "large", profile: "profile.json#large", model: "identity.onnx" },
      ],
    },
  ],
  policy: { method: "ramsis", maxQueue: 4 },
};

beforeAll(async () => {
  const variants = {
    small: { accuracy: 0.7, latencyMs: { 1: 10 } },
    large: { accuracy: 0.9, latencyMs: { 1: LARGE_MS } },
  };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "identity.onnx"), identityModel(3));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(SPEC));
  const { status, stdout } = await compile("-o", bundle);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^ +50 +long +3000 +5\.000% /m);
}, 60_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

function compile(...flags: string[]) {
  return stratagemHere("compile", join(folder, "app.json"), ...flags);
}

test("its promises by class are computed again", async () => {
  const { status, stdout } = await stratagemHere("verify", bundle, "--json");
  expect(status).toBe(0);
  const { guarantees } = JSON.parse(stdout);
  expect(guarantees[0].recomputed.byClass).toEqual(guarantees[0].stated.byClass);
});

test("simulates every class beside what is expected of it", async () => {
  const { stdout } = await stratagemHere(
    "simulate",
    bundle,
    "--arrivals",
    "poisson:50",
    "--duration",
    "200s",
  );
  expect(stdout).toMatch(/^short +\d+ +\d\d\.\d+% /m);
  expect(stdout).toMatch(/^long +\d+ +\d\d\.\d+% /m);
  const json = JSON.parse(
    (
      await stratagemHere(
        "simulate",
        bundle,
        "--arrivals",
        "poisson:50",
        "--json",
        "--duration",
        "200s",
      )
    ).stdout,
  );
  expect(Object.keys(json.byClass)).toEqual(["short", "long"]);
  expect(Object.keys(json.expected.byClass).sort()).toEqual(["long", "short"]);
});

test("a report tells the classes", async () => {
  const out = join(folder, "report.html");
  const { status, stderr } = await stratagemHere("report", bundle, "-o", out, "--frontier", "none");
  expect([status, stderr]).toEqual([0, ""]);
});

/**
 * The bundle with tables that are easy to foretell: one query at a time, on the large variant where
 * that ends in time.
 */
function foretold(): string {
  const decoded = decodeBundle(readFileSync(bundle));
  if (decoded.method !== "ramsis") throw new Error("the spec says ramsis");
  const { actions, slackMs } = decoded.decisionSpace;
  const actionOf = (variant: number): number => {
    const pairs = Array.from({ length: actions.data.length / 2 }, (_, action) => action);
    return pairs.findIndex((action) => {
      return actions.data[2 * action] === variant && actions.data[2 * action + 1] === 1;
    });
  };
  const levels = decoded.levels.map(({ classTables: _, actionByState, ...level }) => {
    const data = Uint16Array.from(actionByState.data, (_cell, cell) => {
      const slack = slackMs.data[cell % slackMs.data.length] ?? 0;
      return actionOf(slack >= LARGE_MS ? 1 : 0);
    });
    return { ...level, actionByState: { ...actionByState, dtype: "uint16" as const, data } };
  });
  const path = join(folder, "foretold.msgpack");
  writeFileSync(path, encodeBundle({ ...decoded, levels }));
  return path;
}

test("serves each query by the deadline of its own class", async () => {
  const child = startStratagem("serve", "--policy", foretold(), "--http", "127.0.0.1:0", "--json");
  running.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  const { url } = JSON.parse(text);
  const ask = async (model: string, parameters: object) => {
    const inputs = [{ name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] }];
    const body = JSON.stringify({ inputs, parameters });
    const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: "POST", body });
    const answer = (await reply.json()) as { parameters: object };
    return answer.parameters;
  };
  const short = { variant: "small", accuracy: 0.7, slo_class: "short" };
  const long = { variant: "large", accuracy: 0.9, slo_class: "long" };
  expect(await ask("echo", {})).toEqual(short);
  expect(await ask("echo", { slo_class: "long" })).toEqual(long);
  expect(await ask("echo.short", {})).toEqual(short);
  expect(await ask("classify.long", {})).toEqual(long);
  // A deadline of the request's own that is earlier holds.
  expect(await ask("echo.long", { timeout: 140_000 })).toEqual({
    ...long,
    variant: "small",
    accuracy: 0.7,
  });

  const load = ["--arrivals", "poisson:50", "--duration", "2s", "--json"];
  const { status, stdout } = await stratagemHere("bench", url, ...load, "--slo-class", "all");
  expect(status).toBe(0);
  const { byClass, queries } = JSON.parse(stdout);
  expect(byClass.short.queries + byClass.long.queries).toBe(queries);
  const metrics = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  for (const name of ["short", "long"]) {
    expect(metrics).toMatch(
      new RegExp(`stratagem_queries_total\\{slo_class="${name}",outcome="satisfied"\\} [1-9]`),
    );
  }
});
