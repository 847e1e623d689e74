/**
 * What it saves that values stay on the device between the files of one worker: the same files as a
 * chain, and one after the other with their values through memory of the CPU. The two and the whole
 * model take turns, so that drift hits all alike. On a driver that runs on the processor, processor
 * time is steadier than the clock. `npm run bench:device-values -- [DEVICE] [RUNS] [NAME]`
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bindChain } from "stratagem/internal/binding/bind-chain";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import type { VariantModel } from "stratagem-runtime/internal/exec/models/executor";
import type { LoadedModel } from "stratagem-runtime/internal/exec/models/loaded-model";
import { defaultDevice } from "stratagem-runtime/internal/exec/models/worker-device";
import { describeModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import { loadModel } from "stratagem-runtime/internal/exec/process/model-store";
import { vulkanEnvironment } from "../../test/support/vulkan.ts";
import { machineLines } from "../experiments/harness/live.ts";
import { onnxModel } from "../models/onnx-graph.ts";
import { ms, quantile } from "./resize/times.ts";

type Device = "cpu" | "webgpu";
type Bytes = Uint8Array<ArrayBuffer>;

/** Runs a batch; the bytes of all outputs. */
type Run = (inputs: readonly Bytes[]) => Promise<Bytes[]>;

interface Subject {
  readonly name: string;
  readonly rows: number;
  readonly paths: readonly string[];
  /** The model that the files are cut from; null where there is none. */
  readonly whole: string | null;
}

const WARM_RUNS = 3;
const STAGES = "policies/malleable";
/** Of a row of the second subject: 1 MB between the files. */
const WIDE = 262_144;
const NARROW = 1024;

const device: Device = process.argv[2] === "cpu" ? "cpu" : "webgpu";
const runs = Number(process.argv[3] ?? 15);
/** Of the only files to run; all if left out. */
const only = process.argv[4];
Object.assign(process.env, device === "webgpu" ? vulkanEnvironment() : {});

const folder = mkdtempSync(join(tmpdir(), "device-values-"));
try {
  for (const line of machineLines()) console.log(line);
  const rows = [
    ["files", "rows", "MB between", "whole", "chain", "through the CPU", "ratio", "ratio of CPU"],
  ];
  for (const subject of subjects()) {
    if (only === undefined || subject.name === only) rows.push(await measured(subject));
  }
  console.log(`${device}, medians of ${runs} runs in turn, ms, and of their processor time`);
  console.log(alignColumns(rows));
} finally {
  rmSync(folder, { recursive: true });
}

function subjects(): Subject[] {
  const stage = (start: string) => {
    const file = readdirSync(STAGES).find((each) => each.startsWith(`${start}.`)) ?? start;
    return join(STAGES, file);
  };
  const cut = (name: string, at: number, end: number): Subject => ({
    name,
    rows: 1,
    paths: [stage(`${name}.0-${at}`), stage(`${name}.${at}-${end}`)],
    whole: stage(`${name}.0-${end}`),
  });
  const wide = widePaths();
  const wides = [1, 4, 16].map((rows) => ({ name: "wide", rows, paths: wide, whole: null }));
  return [cut("cnn-xl", 12, 22), cut("detector-l", 12, 27), ...wides];
}

/** One file makes much of little, the next little of much: the most there is to save. */
function widePaths(): string[] {
  const x = { name: "x", type: "float32", shape: ["n", NARROW] } as const;
  const wide = { name: "wide", type: "float32", shape: ["n", WIDE] } as const;
  const y = { name: "y", type: "float32", shape: ["n", 1] } as const;
  const values = [1, WIDE / NARROW];
  const first = onnxModel({
    nodes: [{ op: "Tile", inputs: ["x", "times"], output: "wide" }],
    constants: [{ name: "times", type: "int64", shape: [2], values }],
    inputs: [x],
    outputs: [wide],
  });
  const attributes = { axes: [1], keepdims: 1 };
  const second = onnxModel({
    nodes: [{ op: "ReduceMean", inputs: ["wide"], output: "y", attributes }],
    inputs: [wide],
    outputs: [y],
  });
  return [first, second].map((model, index) => {
    const path = join(folder, `wide-${index}.onnx`);
    writeFileSync(path, model);
    return path;
  });
}

/** Row of the table. */
async function measured({ name, rows, paths, whole }: Subject): Promise<string[]> {
  const { model } = await bindChain(paths, undefined, [], { describe: describeModel });
  if (model === undefined) throw new Error(`expected files that fit, got ${paths}`);
  const { inputs, outputs } = model;
  const base = { name, warmBatches: [], outputsAreRows: false, inputs, outputs };
  const loaded: LoadedModel[] = [];
  const runOf = async (variant: VariantModel): Promise<Run> => {
    const setup = { on: defaultDevice(device), threads: 1, trying: false, keptModels: null };
    const each = await loadModel(variant, 1, { ...setup, variants: [variant] }, () => {});
    loaded.push(each);
    return async (bytes) =>
      (await each.run(rows, bytes)).outputs.map((output) => bytesOf(output.bytes));
  };
  const parts = (model.parts ?? []).map((part, at) => ({ ...part, path: paths[at + 1] ?? "" }));
  const chain = await runOf({ ...base, path: paths[0] ?? "", parts });
  const links: Link[] = [];
  for (const path of paths) {
    const { inputs: takes, outputs: gives } = (await describeModel(path)).model;
    const run = await runOf({ ...base, inputs: takes, outputs: gives, path });
    links.push({ takes, gives, run });
  }
  const handed = { bytes: 0 };
  const apart: Run = (bytes) => throughCpu(links, inputs, bytes, handed);
  const others = whole === null ? [] : [await runOf({ ...base, path: whole })];
  const [ours, cpu, uncut] = await inTurn([chain, apart, ...others], inputsOf(inputs, rows));
  for (const each of loaded) await each.release();
  if (ours === undefined || cpu === undefined) throw new Error("expected two ways");
  const told = ({ wallMs, workMs }: Medians) => `${ms(wallMs)} (${ms(workMs)})`;
  return [
    name,
    String(rows),
    (handed.bytes / 1e6).toFixed(2),
    uncut === undefined ? "-" : told(uncut),
    told(ours),
    told(cpu),
    (cpu.wallMs / ours.wallMs).toFixed(2),
    (cpu.workMs / ours.workMs).toFixed(2),
  ];
}

/** A file by itself. */
interface Link {
  readonly takes: readonly TensorInfo[];
  readonly gives: readonly TensorInfo[];
  readonly run: Run;
}

/** @param handed counts the bytes between the files, of the last call. */
async function throughCpu(
  links: readonly Link[],
  inputs: readonly TensorInfo[],
  bytes: readonly Bytes[],
  handed: { bytes: number },
): Promise<Bytes[]> {
  const values = new Map(inputs.map(({ name }, at) => [name, bytes[at] ?? new Uint8Array()]));
  let given: Bytes[] = [];
  handed.bytes = 0;
  for (const { takes, gives, run } of links) {
    given = await run(takes.map(({ name }) => values.get(name) ?? new Uint8Array()));
    if (run === links.at(-1)?.run) break;
    for (const [at, { name }] of gives.entries()) {
      const value = given[at] ?? new Uint8Array();
      values.set(name, value);
      handed.bytes += value.length;
    }
  }
  return given;
}

/** Of a row numbers that differ. */
function inputsOf(inputs: readonly TensorInfo[], rows: number): Bytes[] {
  return inputs.map(({ dtype, shape }) => {
    const count = rows * shape.slice(1).reduce((product, size) => product * size, 1);
    const numbers = Array.from({ length: count }, (_, at) => (at * 7919) % 251);
    if (dtype === "uint8") return Uint8Array.from(numbers);
    return new Uint8Array(Float32Array.from(numbers, (value) => value / 251).buffer);
  });
}

interface Medians {
  readonly wallMs: number;
  /** Of the process, all threads. */
  readonly workMs: number;
}

/** @throws Error if the first two do not give the same bytes. */
async function inTurn(all: readonly Run[], inputs: readonly Bytes[]): Promise<Medians[]> {
  const times = all.map(() => ({ wallMs: [] as number[], workMs: [] as number[] }));
  for (let turn = -WARM_RUNS; turn < runs; turn++) {
    const answers: Buffer[] = [];
    for (const [at, run] of all.entries()) {
      const before = process.cpuUsage();
      const startMs = performance.now();
      answers.push(Buffer.concat(await run(inputs)));
      const wallMs = performance.now() - startMs;
      const { user, system } = process.cpuUsage(before);
      if (turn < 0) continue;
      times[at]?.wallMs.push(wallMs);
      times[at]?.workMs.push((user + system) / 1000);
    }
    const [one, other] = answers;
    if (one?.equals(other ?? Buffer.of()) !== true) throw new Error("expected the same bytes");
  }
  return times.map(({ wallMs, workMs }) => {
    return { wallMs: quantile(wallMs, 0.5), workMs: quantile(workMs, 0.5) };
  });
}

/** The same memory: nothing is copied that a chain would not copy. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Bytes {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
