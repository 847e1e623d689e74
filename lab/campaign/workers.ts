/** Models that do harm, each served by the command line beside one that does none. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { encodeBundle } from "stratagem-runtime/internal/bundles/checked-bundle";
import { Rng } from "stratagem-runtime/internal/core/rng";
import {
  endlessModel,
  greedyModel,
  longModel,
  nanModel,
  sleepingEndlessModel,
  sleepingGreedyModel,
} from "../../test/support/hostile-onnx.ts";
import { chainModel } from "../../test/support/onnx-graphs.ts";
import { identityModel } from "../../test/support/onnx-model.ts";
import { LARGE, SMALL, tinyBundle } from "../../test/support/tiny-bundle.ts";
import { CLI } from "../experiments/harness/cli.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const WIDTH = 3;
/** The longest that a server may take to say that it serves, or why not. */
const START_LIMIT_MS = 90_000;
/** The longest that an answer may take: a batch that does not end takes its worker's limit. */
const ANSWER_LIMIT_MS = 45_000;
/** Rows for which sleeping models wake. */
const WAKING_ROWS = 4;
const FLIPS = 8;

interface Case {
  readonly name: string;
  readonly model: Uint8Array;
}

export const WORKERS: Part = {
  name: "workers",
  about: "hostile and damaged ONNX models, served beside a good one",
  unit: "models",
  sizes: { full: 200, short: 8 },
  minutes: 12,
  run: attack,
};

async function attack({ size, seed, folder, say }: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const counts = { refused: 0, served: 0 };
  let slowestMs = 0;
  const cases = casesOf(size, seed);
  for (const [index, one] of cases.entries()) {
    const startMs = performance.now();
    const end = await serveOne(join(folder, String(index)), one).catch((error: unknown) => {
      lost.push(`${one.name}, seed ${seed}: ${error instanceof Error ? error.message : error}`);
      return null;
    });
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
    if (end !== null) counts[end]++;
    if (index % 10 === 9) say(`${index + 1} of ${cases.length}`);
  }
  const figures = {
    "refused at the start": String(counts.refused),
    "served and healthy after": String(counts.served),
    slowest: `${(slowestMs / 1000).toFixed(1)} s`,
  };
  return { tried: cases.length, lost, figures };
}

function casesOf(size: number, seed: number): Case[] {
  const whole = chainModel();
  const cases: Case[] = [
    { name: "16 GiB for four rows", model: sleepingGreedyModel(WIDTH) },
    { name: "16 GiB", model: greedyModel(WIDTH) },
    { name: "NaN", model: nanModel(WIDTH) },
    { name: "no bytes", model: new Uint8Array() },
    { name: "half a model", model: whole.subarray(0, whole.length / 2) },
    { name: "50 thousand nodes", model: longModel(WIDTH, 50_000) },
    { name: "a loop without an end for four rows", model: sleepingEndlessModel(WIDTH) },
    { name: "a loop without an end", model: endlessModel(WIDTH) },
  ];
  const rng = new Rng(seed, 0);
  while (cases.length < size) {
    const model = identityModel(WIDTH);
    const at = Array.from({ length: FLIPS }, () => Math.floor(rng.nextFloat() * model.length));
    for (const place of at) model[place] = Math.floor(rng.nextFloat() * 256);
    cases.push({ name: `bytes ${at.join(" ")} changed`, model });
  }
  return cases.slice(0, size);
}

/** @throws Error saying how the server failed. */
async function serveOne(folder: string, { model }: Case): Promise<"refused" | "served"> {
  const policy = writtenBundle(folder, model);
  const args = ["serve", "--policy", policy, "--http", "127.0.0.1:0", "--json", "--standby", "0"];
  const server = spawn(process.execPath, [CLI, ...args, "--memory", "1GiB"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(server, "close");
  let errors = "";
  server.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  try {
    const url = await servedAt(server);
    if (url === null) {
      await ended;
      if (server.exitCode === 65 && /^RUNTIME_DEVICE hostile/m.test(errors)) return "refused";
      throw new Error(`ended with ${server.exitCode}, saying ${errors.slice(-300)}`);
    }
    for (const rows of [1, WAKING_ROWS]) await ask(url, "hostile", rows);
    await mustAnswer(url);
    return "served";
  } finally {
    server.kill("SIGKILL");
    await ended;
  }
}

function writtenBundle(folder: string, hostile: Uint8Array): string {
  mkdirSync(folder);
  const files = { good: identityModel(WIDTH), hostile };
  const tensor = { dtype: "float32", shape: [-1, WIDTH] };
  const variants = [
    { ...SMALL, name: "good" },
    { ...LARGE, name: "hostile" },
  ];
  const bundle = tinyBundle({ variants, workers: 1, maxQueue: 2, sloMs: 60_000 });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => {
      const content = files[variant.name === "good" ? "good" : "hostile"];
      const file = `${variant.name}.onnx`;
      writeFileSync(join(folder, file), content);
      const sha256 = createHash("sha256").update(content).digest("hex");
      const [inputs, outputs] = [[{ name: "x", ...tensor }], [{ name: "y", ...tensor }]];
      return { ...variant, model: { file, sha256, inputs, outputs } };
    }),
  }));
  const path = join(folder, "bundle.msgpack");
  const served: RamsisBundle = { ...bundle, tasks };
  writeFileSync(path, encodeBundle(served));
  return path;
}

/** Null if it ended instead. @throws Error if it takes too long. */
async function servedAt(server: ChildProcess): Promise<string | null> {
  const timer = setTimeout(() => server.kill("SIGKILL"), START_LIMIT_MS);
  try {
    let said = "";
    for await (const chunk of server.stdout ?? []) {
      said += chunk;
      if (said.includes('"url"') && said.endsWith("}\n")) return JSON.parse(said).url;
    }
    if (server.signalCode !== null) throw new Error(`silent for ${START_LIMIT_MS / 1000} s`);
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** An answer with its status, or an error that says what it is about. @throws Error otherwise. */
async function ask(url: string, variant: string, rows: number): Promise<number> {
  const data = new Array(rows * WIDTH).fill(1);
  const reply = await fetch(`${url}/v2/models/tiny/infer`, {
    method: "POST",
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    body: JSON.stringify({
      inputs: [{ name: "x", datatype: "FP32", shape: [rows, WIDTH], data }],
      parameters: { variant },
    }),
  });
  const body = (await reply.json()) as { readonly error?: string };
  if (reply.status !== 200 && (body.error ?? "") === "") {
    throw new Error(`${variant}, ${rows} rows: ${reply.status} without a reason`);
  }
  return reply.status;
}

/** The good model answers, at the latest once its worker was replaced. */
async function mustAnswer(url: string): Promise<void> {
  const endMs = performance.now() + ANSWER_LIMIT_MS;
  let status = 0;
  while (status !== 200 && performance.now() < endMs) status = await ask(url, "good", 1);
  if (status !== 200) throw new Error(`the good model answers ${status}`);
}
