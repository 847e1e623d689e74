import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityModel, meanModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const WIDTH = 3;
const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-rows-"));
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => {
  // The models tell which of them has answered: one repeats the row, the other says its mean.
  writeFileSync(join(folder, "repeat.onnx"), identityModel(WIDTH));
  writeFileSync(join(folder, "mean.onnx"), meanModel(WIDTH, WIDTH));
  const variants = {
    repeat: { accuracy: 0.7, latencyMs: { 1: 20, 64: 650 } },
    mean: { accuracy: 0.9, latencyMs: { 1: 100, 64: 6400 } },
  };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Compiles and starts a server of both models. @returns where it listens. */
async function serve(balancer: string): Promise<string> {
  const spec = {
    version: 1,
    application: "rows",
    slo: { latency: "5 s" },
    workload: { loads: [0.5], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "classify",
        variants: ["repeat", "mean"].map((name) => {
          return { name, profile: `profile.json#${name}`, model: `${name}.onnx` };
        }),
      },
    ],
    policy: { method: "ramsis", maxQueue: 63, balancer },
  };
  const bundle = join(folder, `${balancer}.msgpack`);
  writeFileSync(join(folder, `${balancer}.json`), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, `${balancer}.json`), "-o", bundle).stderr).toBe("");
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  return urlOf(child);
}

interface Reply {
  readonly parameters: { variant: string; accuracy: number; variants: string };
  readonly outputs: { name: string; data: (number | string)[]; shape: number[] }[];
}

async function infer(
  url: string,
  rows: number,
  extra: object = {},
): Promise<{ status: number; body: Reply }> {
  const data = Array.from({ length: rows }, (_, row) => [row, row + 1, row + 5]).flat();
  const inputs = [{ name: "x", datatype: "FP32", shape: [rows, WIDTH], data }];
  const reply = await fetch(`${url}/v2/models/rows/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs, ...extra }),
  });
  return { status: reply.status, body: JSON.parse(await reply.text()) };
}

/** Of each row, the model that has computed it. */
function computedBy({ outputs }: Reply): string[] {
  const [y] = outputs;
  return Array.from({ length: y?.shape[0] ?? 0 }, (_, row) => {
    const values = y?.data.slice(WIDTH * row, WIDTH * (row + 1)) ?? [];
    if (values.every((value) => Math.abs(Number(value) - row - 2) < 1e-3)) return "mean";
    expect(values).toEqual([row, row + 1, row + 5]);
    return "repeat";
  });
}

/** Batches that were run, by size. */
async function batches(url: string): Promise<{ batch_size: number; count: number }[]> {
  const reply = await fetch(`${url}/v2/models/rows/stats`);
  const stats: { batch_size: number; compute_infer: { count: number } }[] = JSON.parse(
    await reply.text(),
  ).model_stats[0].batch_stats;
  return stats.map(({ batch_size, compute_infer }) => ({
    batch_size,
    count: compute_infer.count,
  }));
}

test.each(["pooled", "round-robin"])(
  "%s: the rows of a request are one arrival",
  async (balancer) => {
    const url = await serve(balancer);

    const eight = await infer(url, 8);
    expect(eight.status).toBe(200);
    const eightVariants = JSON.parse(eight.body.parameters.variants);
    expect(eightVariants).toEqual(Array(8).fill(eight.body.parameters.variant));
    expect(computedBy(eight.body)).toEqual(eightVariants);
    expect(await batches(url)).toEqual([{ batch_size: 8, count: 1 }]);

    const told = await infer(url, 64, { outputs: [{ name: "y" }, { name: "stratagem_variant" }] });
    expect(told.status).toBe(200);
    const variants = JSON.parse(told.body.parameters.variants);
    expect(variants).toHaveLength(64);
    expect(computedBy(told.body)).toEqual(variants);
    expect(told.body.outputs[1]).toEqual({
      name: "stratagem_variant",
      datatype: "BYTES",
      shape: [64],
      data: variants,
    });
    const accuracy = { repeat: 0.7, mean: 0.9 } as Record<string, number>;
    const mean =
      variants.reduce((sum: number, name: string) => sum + (accuracy[name] ?? 0), 0) / 64;
    expect(told.body.parameters.accuracy).toBeCloseTo(mean, 10);

    const same = await infer(url, 64, { parameters: { same_variant: true } });
    expect(same.status).toBe(200);
    expect(new Set(computedBy(same.body)).size).toBe(1);
    const { variant: one, variants: ones } = same.body.parameters;
    expect(new Set(JSON.parse(ones))).toEqual(new Set([one]));

    for (const variant of ["repeat", "mean"]) {
      for (const rows of [1, 64]) {
        const named = await infer(url, rows, { parameters: { variant } });
        expect(named.status).toBe(200);
        expect(named.body.parameters.variant).toBe(variant);
        expect(computedBy(named.body)).toEqual(Array(rows).fill(variant));
      }
    }

    const unknown = await infer(url, 1, { parameters: { variant: "median" } });
    expect(unknown).toEqual({
      status: 400,
      body: { error: 'parameters.variant: expected "repeat" or "mean", got "median"' },
    });
    // Nobody who does not ask for it sees a tensor that the models do not have.
    const metadata = await (await fetch(`${url}/v2/models/rows`)).text();
    expect(JSON.parse(metadata).outputs).toEqual([
      { name: "y", datatype: "FP32", shape: [-1, WIDTH] },
    ]);
  },
);
