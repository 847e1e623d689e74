/**
 * What the gRPC door costs beside HTTP and beside bare grpc-js: requests per second, and processor
 * time of the server's process for each. `npm run bench:grpc -- [SCALE]`
 *
 * The model takes 0.02 ms in a process of its own. On few cores the load generator is what bounds
 * requests per second, so it is the processor time that compares.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { meanModel } from "../../test/support/onnx-model.ts";
import { compiled } from "../experiments/harness/cli.ts";
import {
  type LiveServer,
  machineLines,
  startServe,
  startServer,
  withServer,
} from "../experiments/harness/live.ts";
import { closedLoop, inferMessage } from "../experiments/harness/raw-client.ts";
import { grpcLoop, grpcMessage } from "./http2-client.ts";

const MODEL = "mean";
/** What the kernel counts processor time in. */
const TICKS_PER_S = 100;
const scale = Number(process.argv[2] ?? 1);

const folder = mkdtempSync(join(tmpdir(), "grpc-bench-"));
try {
  for (const line of machineLines()) console.log(line);
  await compare("12 KB", 3072, 32, 20_000 * scale);
  await compare("602 KB", 150_528, 8, 1500 * scale);
} finally {
  rmSync(folder, { recursive: true });
}

async function compare(
  name: string,
  width: number,
  concurrency: number,
  requests: number,
): Promise<void> {
  const message = grpcMessage(MODEL, width);
  const overGrpc = (server: LiveServer) =>
    measured(server, requests, (count) => grpcLoop(server.grpcUrl, message, concurrency, count));
  const httpMessage = inferMessage(MODEL, width);
  const overHttp = (server: LiveServer) =>
    measured(server, requests, async (count) => {
      const port = Number(new URL(server.url).port);
      const load = { port, message: httpMessage, connections: concurrency, requests: count };
      return (await closedLoop(load)).requestsPerSecond;
    });
  const [grpc, http] = await withServer(serve(width), async (server) => [
    await overGrpc(server),
    await overHttp(server),
  ]);
  const bareGrpc = await withServer(startServer([program("bare-grpc-server")]), overGrpc);
  const bareHttp = await withServer(startServer([program("bare-server")]), overHttp);
  const share = (one: Cost | undefined, bare: Cost) =>
    `${((100 * (one?.perSecond ?? 0)) / bare.perSecond).toFixed(0)}% of its requests/s, ` +
    `${((100 * bare.us) / (one?.us ?? Number.NaN)).toFixed(0)}% by processor time`;
  console.log(`${name}, ${concurrency} at a time:`);
  console.log(`  gRPC ${told(grpc)}; bare grpc-js ${told(bareGrpc)}: ${share(grpc, bareGrpc)}`);
  console.log(`  HTTP ${told(http)}; bare node:http ${told(bareHttp)}: ${share(http, bareHttp)}`);
}

interface Cost {
  readonly perSecond: number;
  /** Processor time of the server's process, not of its workers, for a request. */
  readonly us: number;
}

async function measured(
  { pid }: LiveServer,
  requests: number,
  load: (requests: number) => Promise<number>,
): Promise<Cost> {
  await load(Math.ceil(requests / 4));
  const before = ticksOf(pid);
  const perSecond = await load(requests);
  return { perSecond, us: ((ticksOf(pid) - before) / TICKS_PER_S / requests) * 1e6 };
}

/** In user mode and in the kernel. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

function told(cost: Cost | undefined): string {
  return `${cost?.perSecond.toFixed(0)} requests/s, ${cost?.us.toFixed(0)} us each`;
}

function program(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url));
}

/** Compiles a bundle for the model and serves it through both doors. */
async function serve(width: number): Promise<LiveServer> {
  const write = (name: string, bytes: string | Uint8Array) =>
    writeFileSync(join(folder, name), bytes);
  write(`mean-${width}.onnx`, meanModel(width, 10));
  const latencyMs = { 1: 0.3, 32: 1, 400: 8 };
  const variants = { [MODEL]: { accuracy: 0.5, latencyMs } };
  const profile = { format: "latency-profile/1", hardware: "assumed", variants };
  write("profile.json", JSON.stringify(profile));
  const variant = { name: MODEL, model: `mean-${width}.onnx`, profile: `profile.json#${MODEL}` };
  const spec = {
    version: 1,
    application: MODEL,
    slo: { latency: "1 s" },
    workload: { loads: [10_000], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "only", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 400 },
  };
  write("app.json", JSON.stringify(spec));
  const { path } = await compiled("ramsis", join(folder, "app.json"));
  return startServe(path, ["--grpc", "127.0.0.1:0"], { isQuiet: true });
}
