/**
 * What a worker does here: loads sessions by name, runs batches on them, and says what it takes.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";

export interface LoadSession {
  readonly command: "load";
  readonly name: string;
  readonly path: string;
  readonly threads: number;
  readonly spinning: boolean;
  /** Batches that it is warmed with. */
  readonly rows: readonly number[];
}

export interface RunBatches {
  readonly command: "run";
  readonly name: string;
  readonly rows: number;
  readonly runs: number;
}

export interface Loaded {
  readonly createMs: number;
  readonly warmMs: number;
  readonly mib: number;
}

export interface Ran {
  readonly wallMs: readonly number[];
  readonly cpuMs: number;
}

const sessions = new Map<string, InferenceSession>();

process.on("message", async ({ id, ask }: { id: number; ask: LoadSession | RunBatches }) => {
  process.send?.({ id, result: ask.command === "load" ? await load(ask) : await run(ask) });
});

async function load({ name, path, threads, spinning, rows }: LoadSession): Promise<Loaded> {
  const before = process.memoryUsage.rss();
  const startMs = performance.now();
  const session = await InferenceSession.create(path, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: spinning ? "1" : "0" } } },
  });
  const createMs = performance.now() - startMs;
  sessions.set(name, session);
  for (const count of rows) {
    for (let time = 0; time < 2; time++) await session.run(zeros(session, count));
  }
  const warmMs = performance.now() - startMs - createMs;
  return { createMs, warmMs, mib: (process.memoryUsage.rss() - before) / 2 ** 20 };
}

async function run({ name, rows, runs }: RunBatches): Promise<Ran> {
  const session = sessions.get(name);
  if (session === undefined) throw new Error(`no session ${name}`);
  const feeds = zeros(session, rows);
  const wallMs: number[] = [];
  const cpu = process.cpuUsage();
  for (let time = 0; time < runs; time++) {
    const startMs = performance.now();
    await session.run(feeds);
    wallMs.push(performance.now() - startMs);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 / runs };
}

function zeros(session: InferenceSession, rows: number): Record<string, Tensor> {
  const [input] = session.inputMetadata;
  if (input === undefined || !input.isTensor) throw new Error("a model takes a tensor");
  const dims = [rows, ...input.shape.slice(1).map(Number)];
  const size = dims.reduce((product, axis) => product * axis);
  const tensor =
    input.type === "uint8"
      ? new Tensor("uint8", new Uint8Array(size), dims)
      : new Tensor("float32", new Float32Array(size), dims);
  return { [input.name]: tensor };
}
