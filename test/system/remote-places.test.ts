/** Accordion on workers elsewhere: what lies between stages goes from worker to worker. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, expect, test } from "vitest";
import { drawImages } from "../../lab/models/image-classification/dataset.ts";
import { metricSum } from "../support/live-server.ts";
import { freePort } from "../support/nats-server.ts";
import { urlOf } from "../support/run-cli.ts";

const POLICY = ["--policy", "policies/malleable/bundle.msgpack", "--json"];
/** So many that one place alone would be late. */
const ROWS = 48;
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function started(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ["runtime/dist/cli.js", ...args, ...POLICY], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  ends.push(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return urlOf(child);
}

function serve(...args: string[]): Promise<string> {
  const here = ["--http", "127.0.0.1:0", "--accept-other-hardware", "--no-means-check"];
  return started("serve", ...here, ...args);
}

/** Letters of `cnn-xl`, whose answers have to come: urgent requests are never given up. */
async function logits(url: string): Promise<number[]> {
  const { pixels } = drawImages(7, ROWS);
  const inputs = [{ name: "pixels", datatype: "UINT8", shape: [ROWS, 4096], data: [...pixels] }];
  const body = JSON.stringify({ inputs, parameters: { priority: 1 } });
  for (;;) {
    const reply = await fetch(`${url}/v2/models/cnn-xl/infer`, { method: "POST", body });
    const text = await reply.text();
    if (reply.status === 200) return JSON.parse(text).outputs[0].data;
    // A busy machine may refuse one in whose time it cannot answer, or take workers for hung.
    if (!text.includes("workers ended")) expect([429, 503], text).toContain(reply.status);
  }
}

test("answers are those of places of this machine, and stages hand their values on", async () => {
  const places = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`);
  const peers = places.map((place) => `http://${place}`).join();
  const workers = await Promise.all(
    places.map((place) => started("worker", "--http", place, "--peers", peers)),
  );
  const here = await logits(await serve());
  const elsewhere = await logits(await serve("--workers", workers.join(",")));
  expect(elsewhere).toHaveLength(here.length);
  const differences = elsewhere.map((value, at) => Math.abs(value - (here[at] ?? Number.NaN)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(1e-4);
  const kept = await Promise.all(
    workers.map((url) => metricSum(url, 'stratagem_buffered_bytes{what="kept_tensors"} ')),
  );
  expect(kept[0] ?? 0).not.toBe(kept[1] ?? 0);
  expect((kept[0] ?? 0) + (kept[1] ?? 0)).toBeGreaterThan(0);
  const ran = await Promise.all(workers.map((url) => metricSum(url, "nv_inference_exec_count{")));
  // Each row passes two stages, one on each worker.
  for (const count of ran) expect(count).toBeGreaterThanOrEqual(ROWS);
});
