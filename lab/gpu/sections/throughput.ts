/** Requests/s through the server beside the rows/s of the bare session in one process. */
import path from "node:path";
import { stratagem } from "../../experiments/harness/cli.ts";
import { withServer } from "../../experiments/harness/live.ts";
import { percent, present } from "../../experiments/harness/numbers.ts";
import { closedLoop } from "../../experiments/harness/raw-client.ts";
import { profiled, writeSpec } from "../applications.ts";
import { bareSession, rowsOf } from "../bare-session.ts";
import { lettersMessage } from "../letters-client.ts";
import type { Section, Teller } from "../section.ts";
import { serveOn } from "../served.ts";
import type { Settings } from "../settings.ts";

const MODEL = "cnn-l";
const QUICK_MODEL = "mlp-s";
const SECONDS = 4;
const QUICK_SECONDS = 2;
/** Before counting: the session's and the server's code is compiled. */
const WARM_UP = 3;
/** Nothing is given up: the deadline is far. */
const LEAST_SLO_MS = 500;

export const throughput: Section = {
  name: "throughput",
  title: "Requests/s through the server, rows/s of the bare session in one process",
  limitSeconds: 75,
  isOfValues: false,
  run: compareRates,
};

async function compareRates(settings: Settings, tell: Teller): Promise<void> {
  const model = settings.isQuick ? QUICK_MODEL : MODEL;
  const seconds = settings.isQuick ? QUICK_SECONDS : SECONDS;
  const profile = await profiled("letters", settings);
  const { latencyMs } = present(profile[model], `a profile of ${model}`);
  const rateOf = (batch: number) => (1000 * batch) / present(latencyMs[batch]).p50;
  const measured = Object.keys(latencyMs).map(Number);
  const best = present(measured.toSorted((one, other) => rateOf(other) - rateOf(one))[0]);
  tell.note(`${model}; batches of the server are what its policy makes of the requests that wait`);
  tell.columns("batch", "session rows/s", "connections", "server requests/s", "p50 ms", "ratio");

  const bare = await bareRates(path.join("models/image-classification", `${model}.onnx`));
  for (const batch of new Set([1, best])) {
    const session = await bare(batch, seconds);
    const connections = batch === 1 ? 1 : 2 * batch;
    const bundle = await compileFor(batch, connections);
    const served = await withServer(serveOn("letters", bundle, settings), ({ url }) =>
      servedRate(Number(new URL(url).port), connections, seconds),
    );
    tell.row([
      batch,
      session.toFixed(0),
      connections,
      served.requestsPerSecond.toFixed(0),
      present(served.latenciesMs[served.latenciesMs.length >> 1]).toFixed(2),
      percent(served.requestsPerSecond / session, 0),
    ]);
  }

  /**
   * The queue has room for all requests and no more: a policy would wait for others where a batch
   * pays, and one connection has none.
   */
  async function compileFor(batch: number, connections: number): Promise<string> {
    const app = writeSpec("letters", settings, {
      loadsQps: [Number((0.8 * rateOf(batch)).toPrecision(2))],
      sloMs: Math.max(LEAST_SLO_MS, Math.ceil(10 * present(latencyMs[batch]).p95)),
      only: model,
      maxQueue: connections,
    });
    const bundle = app.replace(/\.json$/, `-${batch}.msgpack`);
    await stratagem("compile", app, "-o", bundle);
    return bundle;
  }

  /** Rows/s of runs one after the other, each with its copy to the device and back. */
  async function bareRates(file: string) {
    const session = await bareSession(file, settings.device);
    return async (rows: number, limitSeconds: number): Promise<number> => {
      const feeds = rowsOf(session, rows);
      for (let run = 0; run < WARM_UP; run++) await session.run(feeds);
      const startMs = performance.now();
      let runs = 0;
      for (; performance.now() < startMs + 1000 * limitSeconds; runs++) await session.run(feeds);
      return (1000 * runs * rows) / (performance.now() - startMs);
    };
  }
}

async function servedRate(port: number, connections: number, seconds: number) {
  const load = { port, message: lettersMessage(), connections };
  const warm = await closedLoop({ ...load, requests: WARM_UP * Math.max(16, connections) });
  const requests = Math.max(connections, Math.round(seconds * warm.requestsPerSecond));
  return closedLoop({ ...load, requests });
}
