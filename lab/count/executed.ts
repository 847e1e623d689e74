/** Files of this repository that a request or a command executes, by V8's coverage. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "stratagem-runtime";

interface CoveredRange {
  readonly startOffset: number;
  readonly count: number;
}

interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly CoveredRange[] }[];
}

/** Files of the product in which a function ran, sorted. Loading a module does not count. */
function ran(scripts: readonly Script[]): string[] {
  const paths = scripts
    .filter(({ url }) => url.startsWith("file:"))
    .filter(({ functions }) => functions.some(({ ranges }) => hasRun(ranges[0])))
    .map(({ url }) => relative(".", fileURLToPath(url)))
    .filter((path) => /^(?:runtime|compiler)\/dist\//.test(path));
  return [...new Set(paths)].sort();
}

/** A timer that fires during one request does not fire during all of them. */
const REQUESTS = 20;
/** A busy machine answers some requests 503. */
const MOST_TRIED = 100;

/** Files that each JSON request executes in the front end, once it has answered others. */
export async function executedByRequest(policy: string, models: string): Promise<string[]> {
  const server = await startServer({ policy, models, standby: 0, meansCheck: false });
  try {
    await server.started;
    const ask = async () => {
      const described = await fetch(`${server.url}/v2/models/letters`);
      const { inputs } = (await described.json()) as {
        inputs: { name: string; datatype: string; shape: number[] }[];
      };
      return inputs.map(({ name, datatype, shape }) => {
        const row = [1, ...shape.slice(1)];
        const data = new Array(row.reduce((product, size) => product * size, 1)).fill(0);
        return { name, datatype, shape: row, data };
      });
    };
    const body = JSON.stringify({ inputs: await ask() });
    const infer = async () => {
      const url = `${server.url}/v2/models/letters/infer`;
      const reply = await fetch(url, { method: "POST", body });
      await reply.arrayBuffer();
      return reply.status === 200;
    };
    for (let warm = 0; warm < 20; warm++) await infer();
    const session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const executed: string[][] = [];
    for (let tried = 0; executed.length < REQUESTS; tried++) {
      if (tried === MOST_TRIED) throw new Error("too few requests were answered with 200");
      await session.post("Profiler.takePreciseCoverage");
      const isAnswered = await infer();
      const { result } = await session.post("Profiler.takePreciseCoverage");
      if (isAnswered) executed.push(ran(result));
    }
    session.disconnect();
    const [first = [], ...others] = executed;
    return first.filter((path) => others.every((paths) => paths.includes(path)));
  } finally {
    await server.close();
  }
}

/** Whether a function ran; the one at offset 0 is the module itself. */
function hasRun(whole: CoveredRange | undefined): boolean {
  return whole !== undefined && whole.count > 0 && whole.startOffset > 0;
}

/** Files that a command executes, those of its worker processes among them. */
export function executedByCommand(script: string, args: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-count-"));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    const run = spawnSync(process.execPath, [script, ...args], { encoding: "utf8", env });
    if (run.status !== 0) throw new Error(`${args.join(" ")}: ${run.stderr}`);
    const reports = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    const scripts = reports.flatMap((text) => (JSON.parse(text) as { result: Script[] }).result);
    return ran(scripts);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
