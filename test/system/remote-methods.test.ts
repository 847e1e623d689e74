/** Methods that assign variants to workers, over workers that are servers elsewhere. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { urlOf } from "../support/run-cli.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function started(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ["runtime/dist/cli.js", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  ends.push(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return urlOf(child);
}

interface Described {
  readonly name: string;
  readonly inputs: readonly { name: string; datatype: string; shape: readonly number[] }[];
}

/** A request of one row of what the application takes, half of what a byte may be. */
async function bodyFor(url: string): Promise<{ readonly path: string; readonly body: string }> {
  const index = await fetch(`${url}/v2/models`);
  const { models }: { readonly models: readonly string[] } = JSON.parse(await index.text());
  const path = `/v2/models/${models[0]}`;
  const described: Described = JSON.parse(await (await fetch(`${url}${path}`)).text());
  const inputs = described.inputs.map(({ name, datatype, shape }) => {
    const sizes = shape.map((size) => (size < 0 ? 1 : size));
    const count = sizes.reduce((product, size) => product * size, 1);
    const half = datatype.startsWith("FP") ? 0.5 : 128;
    return { name, datatype, shape: sizes, data: new Array<number>(count).fill(half) };
  });
  return { path: `${path}/infer`, body: JSON.stringify({ inputs }) };
}

async function answered(url: string): Promise<number[]> {
  const { path, body } = await bodyFor(url);
  for (;;) {
    const reply = await fetch(`${url}${path}`, { method: "POST", body });
    const text = await reply.text();
    if (reply.status === 200) {
      const { outputs }: { readonly outputs: readonly { data: number[] }[] } = JSON.parse(text);
      return outputs.flatMap(({ data }) => data);
    }
    // A busy machine may refuse one in whose time it cannot answer.
    expect([429, 503], text).toContain(reply.status);
  }
}

async function batchesOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("nv_inference_exec_count{"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test.each([
  ["themis", "scaling", 2],
  ["loki", "scenes", 2],
  ["inferline", "cascade", 6],
])("%s answers from workers elsewhere as from those of this machine", async (_, policy, count) => {
  const bundle = ["--policy", `policies/${policy}/bundle.msgpack`, "--http", "127.0.0.1:0"];
  const own = [...bundle, "--models", `models/${policy}`, "--json"];
  const serve = ["serve", ...own, "--accept-other-hardware", "--no-means-check"];
  const here = await answered(await started(...serve));
  // Plain files need no bundle, and the agent none of the graph between them.
  const agent = ["worker", "--http", "127.0.0.1:0", "--json"];
  const folder = ["--models", `models/${policy}`];
  const starting = Array.from({ length: count }, () => started(...agent, ...folder));
  const workers = await Promise.all(starting);
  const elsewhere = await answered(await started(...serve, "--workers", workers.join(",")));
  expect(elsewhere.length).toBeGreaterThan(0);
  expect(elsewhere).toHaveLength(here.length);
  const differences = elsewhere.map((value, at) => Math.abs(value - (here[at] ?? Number.NaN)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(1e-4);
  const ran = await Promise.all(workers.map(batchesOf));
  expect(ran.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
});
