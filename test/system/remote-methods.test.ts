/** Methods that assign variants to workers, over workers that are servers elsewhere. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { metricSum, rowRequest } from "../support/live-server.ts";
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

async function answered(url: string): Promise<number[]> {
  const { inferUrl, body } = await rowRequest(url);
  for (;;) {
    const reply = await fetch(inferUrl, { method: "POST", body });
    const text = await reply.text();
    if (reply.status === 200) {
      const { outputs }: { readonly outputs: readonly { data: number[] }[] } = JSON.parse(text);
      return outputs.flatMap(({ data }) => data);
    }
    // A busy machine may refuse one in whose time it cannot answer.
    expect([429, 503], text).toContain(reply.status);
  }
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
  const ran = await Promise.all(workers.map((url) => metricSum(url, "nv_inference_exec_count{")));
  expect(ran.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
});
