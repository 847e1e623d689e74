/**
 * The program of a worker as it ships, started with onnxruntime's log of everything: how many
 * kernels its GPU compiles for what.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import type { ModelFacts } from "../../runtime/exec/models/model-facts.ts";
import type { WorkerDevice } from "../../runtime/exec/models/worker-device.ts";
import type { WorkerSetup } from "../../runtime/exec/models/worker-setup.ts";
import {
  decodeText,
  FRAME_KINDS,
  type Frame,
  FrameReader,
  runFrame,
  textFrame,
} from "../../runtime/exec/process/worker-channel.ts";

const PROGRAM = resolve("runtime/dist/exec/process/worker.js");
const CHANNEL = 3;
/** onnxruntime's WebGPU writes this before the source of each program that it compiles. */
const COMPILED = /=== WebGPU Shader code \[.*\] Start ===/g;

export interface LoggedWorker {
  readonly facts: ModelFacts;
  /** Kernels that it compiled before it was ready. */
  readonly compiledBefore: number;
  /** Runs a batch of all kinds of values. @returns kernels that were compiled for it. */
  run(rows: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts a worker that loads a variant at its start. @throws Error with what it says instead. */
export async function loggedWorker(variant: VariantModel, on: WorkerDevice): Promise<LoggedWorker> {
  const log = join(mkdtempSync(join(tmpdir(), "stratagem-log-")), "worker.log");
  const fd = openSync(log, "w");
  const child = spawn(process.execPath, ["--import", loud(), PROGRAM], {
    env: { ...process.env, ...on.environment },
    stdio: ["ignore", fd, fd, "pipe"],
  });
  closeSync(fd);
  const channel = child.stdio[CHANNEL];
  if (!(channel instanceof Socket)) throw new Error("a pipe is a socket here");
  const compiled = (): number => readFileSync(log, "latin1").match(COMPILED)?.length ?? 0;
  let facts: ModelFacts | undefined;
  const waiting: ((frame: Frame) => void)[] = [];
  const reader = new FrameReader((frame) => {
    if (frame.kind === FRAME_KINDS.facts) facts = JSON.parse(decodeText(frame.payload));
    else if (frame.kind !== FRAME_KINDS.loading) waiting.shift()?.(frame);
  });
  channel.on("data", (chunk: Buffer) => reader.push(chunk));
  const asked = async (kind: number, chunks: readonly Uint8Array[]): Promise<void> => {
    const answered = new Promise<Frame>((answer) => waiting.push(answer));
    for (const chunk of chunks) channel.write(chunk);
    const frame = await answered;
    if (frame.kind !== kind) throw new Error(decodeText(frame.payload));
  };
  const setup: WorkerSetup = {
    ...{ variants: [variant], threads: 1, on, trying: false, keptModels: null },
  };
  await asked(FRAME_KINDS.ready, textFrame(FRAME_KINDS.load, JSON.stringify(setup)));
  if (facts === undefined) throw new Error("a worker tells of its models before it is ready");
  return {
    facts,
    compiledBefore: compiled(),
    async run(rows) {
      const before = compiled();
      const inputs = variant.inputs.map(({ dtype, shape }) => {
        const elements = shape.slice(1).reduce((product, size) => product * size, rows);
        const bytes = new Uint8Array(elements * (dtype === "float32" ? 4 : 1));
        return [dtype === "uint8" ? bytes.map((_, at) => (at * at + 7 * at) % 251) : bytes];
      });
      await asked(FRAME_KINDS.result, runFrame({ variant: 0, rows, inputs }, 1));
      return compiled() - before;
    },
    async close() {
      channel.destroy();
      await once(child, "exit");
    },
  };
}

/** A module that makes onnxruntime say all it does. */
function loud(): string {
  const from = JSON.stringify(resolve("runtime/package.json"));
  const code = [
    'import { createRequire } from "node:module";',
    `createRequire(${from})("onnxruntime-node").env.logLevel = "verbose";`,
  ].join("");
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
