/** Requests/s through the server beside the rows/s of the bare session in one process. */
import path from "node:path";
import { closedLoop } from "../../../bench/raw-client.ts";
import { stratagem } from "../../../experiments/harness/cli.ts";
import { withServer } from "../../../experiments/harness/live.ts";
import { percent, present } from "../../../experiments/harness/numbers.ts";
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
  const app = writeSpec("letters", settings, {
    loadsQps: [Number((0.8 * rateOf(best)).toPrecision(2))],
    // Nothing is given up: what waits is as many requests as there are connections.
    sloMs: Math.max(2000, Math.ceil(20 * present(latencyMs[best]).p95)),
    only: model,
    maxQueue: Math.max(16, best),
  });
  const bundle = app.replace(/\.json$/, ".msgpack");
  await stratagem("compile", app, "-o", bundle);
  await withServer(serveOn("letters", bundle, settings), async ({ url }) => {
    for (const [batch, connections] of new Map([
      [1, 1],
      [best, 2 * best],
    ])) {
      const session = await bare(batch, seconds);
      const load = { port: Number(new URL(url).port), message: lettersMessage(), connections };
      const warm = await closedLoop({ ...load, requests: WARM_UP * Math.max(16, connections) });
      const requests = Math.max(connections, Math.round(seconds * warm.requestsPerSecond));
      const { requestsPerSecond, latenciesMs } = await closedLoop({ ...load, requests });
      tell.row([
        batch,
        session.toFixed(0),
        connections,
        requestsPerSecond.toFixed(0),
        present(latenciesMs[latenciesMs.length >> 1]).toFixed(2),
        percent(requestsPerSecond / session, 0),
      ]);
    }
  });

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
