/** Labels fed back to a real server: what it then says of the accuracy of its variants. */
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { drawImages, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-feedback-"));
const running: ChildProcess[] = [];

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Neither trained on nor held out. */
const SEED = 22;
const ROWS = 10;
const LETTERS = 300;
const { pixels, labels } = drawImages(SEED, LETTERS);

/** As they were measured on held-out letters (models/image-classification/models.json). */
const HELD_OUT = { "mlp-s": 0.714, "cnn-s": 0.916, "cnn-xl": 0.9795 };

async function serve(...flags: string[]): Promise<string> {
  const child = startStratagem(
    ...["serve", "--policy", "policies/letters/bundle.msgpack", "--http", "127.0.0.1:0", "--json"],
    ...["--models", "models/image-classification", "--accept-other-hardware", "--no-means-check"],
    ...["--standby", "0", "--limit", "feedbackRows=4096", ...flags],
  );
  running.push(child);
  return urlOf(child);
}

async function asked(url: string, path: string, init: RequestInit = {}) {
  const reply = await fetch(`${url}/v2/models/letters${path}`, init);
  return { status: reply.status, json: JSON.parse(await reply.text()) };
}

/** Rows from `first` on, answered by one variant; again where the machine was too slow for them. */
async function infer(url: string, id: string, first: number, variant: string, headers = {}) {
  const json = JSON.stringify({
    id,
    parameters: { variant },
    inputs: [
      {
        name: "pixels",
        datatype: "UINT8",
        shape: [ROWS, IMAGE_BYTES],
        parameters: { binary_data_size: ROWS * IMAGE_BYTES },
      },
    ],
  });
  const rows = pixels.subarray(first * IMAGE_BYTES, (first + ROWS) * IMAGE_BYTES);
  const body = Buffer.concat([Buffer.from(json), rows]);
  const length = { "inference-header-content-length": String(Buffer.byteLength(json)) };
  for (;;) {
    const init = { method: "POST", body, headers: { ...length, ...headers } };
    const { status, json: told } = await asked(url, "/infer", init);
    if (status === 200) return;
    expect([status, told]).toEqual([503, { error: expect.stringContaining("deadline") }]);
  }
}

async function metricsOf(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

function feed(url: string, items: readonly object[], headers = {}) {
  const body = JSON.stringify({ feedback: items });
  return asked(url, "/feedback", { method: "POST", body, headers });
}

const labelsFrom = (first: number) => Array.from(labels.subarray(first, first + ROWS));

test("intervals of labels have held-out accuracies in them", async () => {
  const url = await serve();
  for (const variant of Object.keys(HELD_OUT)) {
    const items = [];
    for (let first = 0; first < LETTERS; first += ROWS) {
      const id = `${variant}-${first}`;
      await infer(url, id, first, variant);
      items.push({ id, label: labelsFrom(first) });
    }
    const { status, json } = await feed(url, items);
    expect(status).toBe(200);
    expect(json.correct + json.wrong).toBe(LETTERS);
    expect([json.unknown, json.repeated]).toEqual([[], []]);
  }
  const { json } = await asked(url, "/feedback");
  const metrics = await metricsOf(url);
  for (const [variant, accuracy] of Object.entries(HELD_OUT)) {
    const { profiled, labels: counted, lower, upper, estimate } = json.variants[variant];
    expect(profiled).toBe(accuracy);
    expect(counted.correct + counted.wrong).toBe(LETTERS);
    expect(lower).toBeLessThan(accuracy);
    expect(upper).toBeGreaterThan(accuracy);
    expect(upper - lower).toBeLessThan(0.25);
    expect(estimate).toBeGreaterThanOrEqual(lower);
    expect(estimate).toBeLessThanOrEqual(upper);
    const series = `stratagem_feedback_total{model="letters",variant="${variant}",correct="true"}`;
    expect(metrics).toContain(`${series} ${counted.correct}\n`);
  }
  expect(json.variants["cnn-m"].estimate).toBeNull();
});

test("takes feedback only from the client whose token the requests had", async () => {
  const [own, other] = ["stg_own", "stg_other"];
  const hash = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;
  const tokens = { own, other };
  const lines = Object.entries(tokens).map(([name, token]) => {
    return `- ${JSON.stringify({ name, hash: hash(token), scopes: ["infer"] })}`;
  });
  const file = join(folder, "tokens.yaml");
  writeFileSync(file, lines.join("\n"), { mode: 0o600 });
  const url = await serve("--tokens", file);
  const as = (token: string) => ({ authorization: `Bearer ${token}`, connection: "close" });
  const ids = ["a", "b", "c", "d", "e", "f"];
  for (const id of ids) await infer(url, id, 0, "cnn-s", as(own));
  const items = ids.map((id) => ({ id, label: labelsFrom(0) }));
  expect((await feed(url, items, as(other))).status).toBe(404);
  expect((await feed(url, items)).status).toBe(401);
  const { status, json } = await feed(url, items, as(own));
  expect([status, json.correct + json.wrong, json.unknown]).toEqual([200, ids.length * ROWS, []]);
  expect((await feed(url, items, as(own))).status).toBe(409);
  const told = await asked(url, "/feedback", { headers: as(own) });
  expect(told.json.variants["cnn-s"].labels.correct).toBe(json.correct);
});
