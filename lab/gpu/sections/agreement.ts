/** Every model on the device against the processor, and which of its nodes the processor runs. */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { bareSession, rowsOf } from "../bare-session.ts";
import type { Section, Teller } from "../section.ts";
import type { Settings } from "../settings.ts";

/** Largest difference of a number that counts as agreement. */
const TOLERANCE = 1e-3;
const FOLDERS = ["image-classification", "scenes", "scaling", "cascade"];
const LIMIT_SECONDS = 100;
/** A quick check tries the smallest models, as many as it has time for. */
const QUICK_SECONDS = 20;

export const agreement: Section = {
  name: "agreement",
  title: `Agreement with the CPU (tolerance ${TOLERANCE}), and nodes that the CPU runs`,
  limitSeconds: LIMIT_SECONDS,
  isOfValues: true,
  run: compareAll,
};

async function compareAll(settings: Settings, tell: Teller): Promise<void> {
  const batches = settings.isQuick ? [1, 2] : [1, 8];
  const differences = batches.map((rows) => `difference ${rows}`);
  tell.columns("model", "KiB", ...differences, "nodes", "on the CPU", "first ms");
  const files = modelFiles();
  const startMs = performance.now();
  let done = 0;
  for (const file of files) {
    if (settings.isQuick && performance.now() - startMs > 1000 * QUICK_SECONDS) break;
    const found = await compare(file, batches, settings);
    const isKept = found.differences.every((difference) => difference <= TOLERANCE);
    tell.row(
      [
        path.relative("models", file).replace(/\.onnx$/, ""),
        Math.round(statSync(file).size / 1024),
        ...found.differences.map((difference) => difference.toExponential(1)),
        found.nodes,
        found.onCpu,
        Math.round(found.firstMs),
      ],
      isKept,
    );
    if (found.onCpu > 0 && found.onCpu < found.nodes)
      tell.note(`${path.relative("models", file)} on the CPU: ${found.ops}`);
    done++;
  }
  if (done < files.length)
    tell.note(`${done} of ${files.length} models, the smallest: it is quick`);
}

/** The smallest first. */
function modelFiles(): string[] {
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(path.join("models", folder)).filter((name) => name.endsWith(".onnx"));
    return names.map((name) => path.join("models", folder, name));
  }).toSorted((one, other) => statSync(one).size - statSync(other).size);
}

async function compare(file: string, batches: readonly number[], settings: Settings) {
  const prefix = path.join(settings.work, "trace");
  const traced = { enableProfiling: true, profileFilePrefix: prefix };
  const cpu = await bareSession(file, "cpu");
  const startMs = performance.now();
  const device = await bareSession(file, settings.device, traced);
  const differences: number[] = [];
  let firstMs = Number.NaN;
  for (const rows of batches) {
    const feeds = rowsOf(cpu, rows);
    const expected = await cpu.run(feeds);
    const found = await device.run(feeds);
    if (Number.isNaN(firstMs)) firstMs = performance.now() - startMs;
    differences.push(largestDifference(expected, found));
  }
  device.endProfiling();
  await Promise.all([cpu.release(), device.release()]);
  return { differences, firstMs, ...nodesOf(prefix) };
}

/** Infinite where shapes differ, as where a detector finds another number of crops. */
function largestDifference(
  expected: InferenceSession.ReturnType,
  found: InferenceSession.ReturnType,
): number {
  let largest = 0;
  for (const [name, tensor] of Object.entries(expected)) {
    const other = found[name];
    if (other === undefined || String(other.dims) !== String(tensor.dims)) return Infinity;
    const [ours, theirs] = [numbersOf(tensor), numbersOf(other)];
    for (const [at, value] of ours.entries()) {
      const difference = Math.abs(value - (theirs[at] ?? Number.NaN));
      largest = Math.max(largest, Number.isNaN(difference) ? Infinity : difference);
    }
  }
  return largest;
}

function numbersOf({ data }: Tensor): number[] {
  return Array.from(data as ArrayLike<number | bigint>, Number);
}

interface TraceEvent {
  readonly name: string;
  readonly args?: { readonly provider?: string; readonly op_name?: string };
}

/** Nodes of a trace of onnxruntime by who ran them; the trace is removed. */
function nodesOf(prefix: string): { nodes: number; onCpu: number; ops: string } {
  const opByNode = new Map<string, string>();
  const onCpu = new Map<string, string>();
  const folder = path.dirname(prefix);
  const traces = readdirSync(folder).filter((name) => name.startsWith(path.basename(prefix)));
  for (const file of traces.map((name) => path.join(folder, name))) {
    for (const { name, args } of JSON.parse(readFileSync(file, "utf8")) as TraceEvent[]) {
      if (!name.endsWith("_kernel_time") || args?.provider === undefined) continue;
      const op = args.op_name ?? "?";
      opByNode.set(name, op);
      if (args.provider === "CPUExecutionProvider") onCpu.set(name, op);
    }
    rmSync(file);
  }
  const counts = new Map<string, number>();
  for (const op of onCpu.values()) counts.set(op, (counts.get(op) ?? 0) + 1);
  const ops = [...counts].sort(([, one], [, other]) => other - one);
  const text = ops.map(([op, count]) => `${count} ${op}`).join(", ");
  return { nodes: opByNode.size, onCpu: onCpu.size, ops: text };
}
