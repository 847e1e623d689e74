/** What servers of all methods tell at `/metrics`, with everything on. */
import { Client, credentials } from "@grpc/grpc-js";
import type { MetricLine } from "../../runtime/base/exposition.ts";
import { DecisionLog } from "../../runtime/features/decision-log/decision-log.ts";
import { followedBy } from "../../runtime/features/decision-log/followed-cores.ts";
import { openOtlp } from "../../runtime/features/telemetry/otlp/otlp.ts";
import { otlpSettings } from "../../runtime/features/telemetry/otlp/otlp-settings.ts";
import { telemetryOf } from "../../runtime/features/telemetry/telemetry.ts";
import { WorkerFacts } from "../../runtime/host/worker-facts.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { Application } from "../../runtime/server/applications/application.ts";
import { droppedLines } from "../../runtime/server/logs/line-sink.ts";
import { gpuLines } from "../../runtime/server/metrics/gpu-lines.ts";
import type { FakeWorkers, ServedSubject } from "../contract/subjects/served.ts";
import { serveSeveral } from "./serve-one.ts";

const CLOCK = { nowMs: () => 1000, epochOffsetMs: () => 0 };

/** Of a GPU with a worker on it, which is process 1. */
const SAMPLE = {
  gpus: [
    {
      uuid: "GPU-1",
      utilization: 0.5,
      memoryTotalBytes: 2 ** 34,
      memoryUsedBytes: 2 ** 33,
      powerWatts: 60,
      powerLimitWatts: 70,
    },
  ],
  bytesByPid: new Map([[1, 2 ** 32]]),
};

interface Opened {
  readonly application: Application;
  readonly workers: FakeWorkers;
}

async function opened(subject: ServedSubject): Promise<Opened> {
  const workers = subject.openWorkers();
  const workerFacts = new WorkerFacts([{ name: "a" }], () => {});
  const facts = { variant: 0, loadMs: 1, warmMs: 1, nodes: 2, cpuNodes: [], hasFallback: false };
  workerFacts.onModelFacts(facts, "webgpu");
  const application = await methodOf(subject.bundle).host(subject.bundle, {
    bundleSha256: "ab".repeat(32),
    nowMs: CLOCK.nowMs,
    axisNames: subject.axisNames ?? [],
    workers: workers.starter,
    workerLines: () => workerFacts.metricLines(),
  });
  return { application, workers };
}

export interface Told {
  readonly text: string;
  readonly lines: readonly MetricLine[];
}

/**
 * Asks one server of several applications.
 * @param subjects whose models have names of their own.
 */
export async function toldMetrics(subjects: readonly ServedSubject[]): Promise<Told> {
  const hosted = await Promise.all(subjects.map(opened));
  const settings = otlpSettings("http://127.0.0.1:9", { OTEL_TRACES_SAMPLER: "always_off" });
  if (settings === undefined) throw new Error("there is an endpoint");
  const otlp = openOtlp({ settings, version: "0.0.0", ...CLOCK, onNotice: () => {} });
  const decisions = new DecisionLog({
    destination: { name: "nowhere", send: async () => ({ kind: "taken" }) },
    ...{ sample: 1, mask: [], review: () => undefined, onNotice: () => {}, ...CLOCK },
  });
  const features = [telemetryOf({ traces: otlp.traces, ...CLOCK }), followedBy(decisions)];
  const sink = { droppedCount: 0 };
  const server = await serveSeveral(
    hosted.map(({ application }) => application),
    {
      host: "127.0.0.1",
      port: 0,
      ...CLOCK,
      version: "0.0.0",
      settings: { feedbackRows: 100 },
      features,
      grpc: { host: "127.0.0.1", port: 0, maxStreams: 1 },
      otherLines: () => {
        const workers = hosted.map(({ application: { name } }) => ({ model: name, pids: [1] }));
        const dropped = ["server", "access"].flatMap((log) => droppedLines(log, sink));
        return [...gpuLines(SAMPLE, workers), ...dropped];
      },
    },
  );
  try {
    for (const { workers } of hosted) workers.ready();
    for (const [index, subject] of subjects.entries()) {
      await answered(server.url, subject, hosted[index]?.workers);
    }
    await askedByGrpc(server.grpcUrl ?? "");
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return { text, lines: server.metricLines() };
  } finally {
    await server.close();
    await otlp.close();
    await decisions.close();
  }
}

/** A stream of one request that is refused, so that there are samples of calls and messages. */
async function askedByGrpc(url: string): Promise<void> {
  const client = new Client(url, credentials.createInsecure());
  const asIs = (bytes: Buffer) => bytes;
  const path = "/inference.GRPCInferenceService/ModelStreamInfer";
  const stream = client.makeBidiStreamRequest(path, asIs, asIs);
  stream.end(Buffer.of(0xff));
  for await (const _ of stream);
  client.close();
}

/** A request of the model, so that there are samples of all that is counted. */
async function answered(url: string, subject: ServedSubject, workers: FakeWorkers | undefined) {
  const { name, data } = subject.input;
  const shape = [data.length, data[0]?.length];
  const body = JSON.stringify({ inputs: [{ name, datatype: "FP32", shape, data }] });
  let isOver = false;
  const asked = fetch(`${url}/v2/models/${subject.model}/infer`, { method: "POST", body });
  const over = asked.then(async (reply) => {
    await reply.arrayBuffer();
    isOver = true;
  });
  while (!isOver) {
    if ((workers?.runningCount() ?? 0) > 0) await workers?.finish();
    await new Promise(setImmediate);
  }
  await over;
}
