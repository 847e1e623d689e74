/**
 * What it saves that values stay on the device between the files of one worker: the same files as a
 * chain, and one after the other with their values through memory of the CPU. The two and the whole
 * model take turns, so that drift hits all alike. `npm run bench:device-values -- [DEVICE] [RUNS]`
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bindChain } from "stratagem/internal/binding/bind-chain";
import type { VariantModel } from "stratagem-runtime/internal/exec/executor";
import { loadModel } from "stratagem-runtime/internal/exec/load-model";
import type { LoadedModel } from "stratagem-runtime/internal/exec/loaded-model";
import { describeModel } from "stratagem-runtime/internal/exec/model-file";
import { defaultDevice } from "stratagem-runtime/internal/exec/worker-device";
import { alignColumns } from "stratagem-runtime/internal/tell/text";
import { machineLines } from "../experiments/harness/live.ts";
import { vulkanEnvironment } from "../test/support/vulkan.ts";
import { onnxModel } from "../tools/onnx-graph.ts";
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
Object.assign(process.env, device === "webgpu" ? vulkanEnvironment() : {});

const folder = mkdtempSync(join(tmpdir(), "device-values-"));
try {
  for (const line of machineLines()) console.log(line);
  const rows = [
    ["files", "rows", "MB handed on", "whole, ms", "chain, ms", "through the CPU, ms", "ratio"],
  ];
  for (const subject of subjects()) rows.push(await measured(subject));
  console.log(`${device}, medians of ${runs} runs in turn; ratio: through the CPU ÷ chain`);
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

async function measured({ name, rows, paths, whole }: Subject): Promise<string[]> {
  const { model } = await bindChain(paths, undefined, [], { describe: describeModel });
  if (model === undefined) throw new Error(`expected files that fit, got ${paths}`);
  const { inputs, outputs } = model;
  const parts = (model.parts ?? []).map((part, at) => ({ ...part, path: paths[at + 1] ?? "" }));
  const base = { name, warmBatches: [], outputsAreRows: false, inputs, outputs };
  const chained: VariantModel = { ...base, path: paths[0] ?? "", parts };
  const loaded: LoadedModel[] = [];
  const runOf = async (variant: VariantModel): Promise<Run> => {
    const setup = { on: defaultDevice(device), threads: 1, trying: false, keptModels: null };
    const all = { ...setup, variants: [variant] };
    const each = await loadModel(variant, 1, all, () => {});
    loaded.push(each);
    return async (bytes) =>
      (await each.run(rows, bytes)).outputs.map((output) => bytesOf(output.bytes));
  };
  const chain = await runOf(chained);
  const singles = await Promise.all(paths.map(async (path) => (await describeModel(path)).model));
  const handed = { bytes: 0 };
  const apart: Run[] = [];
  for (const [at, single] of singles.entries()) {
    const tensors = { inputs: single.inputs, outputs: single.outputs };
    apart.push(await runOf({ ...base, ...tensors, path: paths[at] ?? "" }));
  }
  const throughCpu: Run = async (bytes) => {
    const values = new Map(inputs.map((info, at) => [info.name, bytes[at] ?? new Uint8Array()]));
    let given: Bytes[] = [];
    handed.bytes = 0;
    for (const [at, single] of singles.entries()) {
      const taken = single.inputs.map((info) => values.get(info.name) ?? new Uint8Array());
      given = (await apart[at]?.(taken)) ?? [];
      if (at === singles.length - 1) break;
      for (const [output, { name: value }] of single.outputs.entries()) {
        values.set(value, given[output] ?? new Uint8Array());
        handed.bytes += given[output]?.length ?? 0;
      }
    }
    return given;
  };
  const others = whole === null ? [] : [await runOf({ ...base, path: whole })];
  const all = [chain, throughCpu, ...others];
  const times = all.map((): number[] => []);
  const feeds = inputs.map(({ dtype, shape }) => {
    const count = rows * shape.slice(1).reduce((product, size) => product * size, 1);
    const numbers = Array.from({ length: count }, (_, at) => (at * 7919) % 251);
    if (dtype === "uint8") return Uint8Array.from(numbers);
    return new Uint8Array(Float32Array.from(numbers, (value) => value / 251).buffer);
  });
  for (let turn = -WARM_RUNS; turn < runs; turn++) {
    const answers: Bytes[][] = [];
    for (const [at, run] of all.entries()) {
      const startMs = performance.now();
      answers.push(await run(feeds));
      if (turn >= 0) times[at]?.push(performance.now() - startMs);
    }
    if (
      Buffer.compare(answers[0]?.[0] ?? feeds[0] ?? Buffer.of(), answers[1]?.[0] ?? Buffer.of())
    ) {
      throw new Error(`${name}: expected the same bytes both ways`);
    }
  }
  for (const each of loaded) await each.release();
  const [chainMs = Number.NaN, cpuMs = Number.NaN, wholeMs] = times.map((own) =>
    quantile(own, 0.5),
  );
  return [
    name,
    String(rows),
    (handed.bytes / 1e6).toFixed(2),
    wholeMs === undefined ? "-" : ms(wholeMs),
    ms(chainMs),
    ms(cpuMs),
    (cpuMs / chainMs).toFixed(2),
  ];
}

/** The same memory: nothing is copied that a chain would not copy. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Bytes {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
