/** Plans of one front end of several, told by a recorded server and said again. */
import { expect, test } from "vitest";
import { pipelineDispatcherOf } from "../../../../runtime/methods/loki/core/loki-dispatcher.ts";
import type {
  PipelineCommand,
  PipelineEvent,
} from "../../../../runtime/server/graph/pipeline-recording.ts";
import { PipelineReplayer } from "../../../../runtime/server/graph/pipeline-replayer.ts";
import {
  RecordedDispatcher,
  type ServedDispatcher,
} from "../../../../runtime/server/graph/recorded-dispatcher.ts";
import { chainBundle } from "../../../support/loki-samples.ts";

/** At this SLO a beat is a second. */
const BUNDLE = chainBundle({ sloMs: 100 });
const BEAT_MS = 1000;
const CAPACITY = 4096;
const SHARE = { othersQps: 400, othersVariance: 100, workers: 3, allWorkers: 6 };

function dispatcher(): ServedDispatcher {
  return pipelineDispatcherOf(BUNDLE, { queryCapacity: CAPACITY, initialDemandQps: 20 });
}

test("a share is recorded, and a replay of it assigns the same models", () => {
  const entries: (PipelineEvent | PipelineCommand)[] = [];
  const recorded = new RecordedDispatcher({
    dispatcher: dispatcher(),
    queryCapacity: CAPACITY,
    recorder: (entry) => entries.push(entry),
    onWake: () => {},
  });
  for (let worker = 0; worker < 3; worker++) recorded.onWorkerReady(worker, 0);
  for (let worker = 0; worker < 3; worker++) recorded.onModelReady(worker, 0);
  expect(recorded.level).toBe(0);
  recorded.onShare(SHARE, 1);
  recorded.onRequest(2);
  recorded.onTimer(1.1 * BEAT_MS);
  expect(recorded.level).toBe(2);
  recorded.stop();
  const replayer = new PipelineReplayer(dispatcher(), CAPACITY);
  const events = entries.filter(({ kind }) => !COMMANDS.has(kind));
  const said = events.flatMap((event) => replayer.tell(event));
  expect(said).toEqual(entries.filter(({ kind }) => COMMANDS.has(kind)));
  expect(said.length).toBeGreaterThan(3);
});

test("what comes here is told to the others, not what is made of it", () => {
  const recorded = new RecordedDispatcher({
    dispatcher: dispatcher(),
    queryCapacity: CAPACITY,
    recorder: undefined,
    onWake: () => {},
  });
  recorded.onShare(SHARE, 0);
  for (let request = 0; request < 50; request++) recorded.onRequest((BEAT_MS / 50) * request);
  const { qps, variance } = recorded.seenLoad(BEAT_MS);
  expect(qps).toBeGreaterThan(20);
  expect(qps).toBeLessThan(51);
  expect(variance).toBeGreaterThan(0);
  recorded.stop();
});

const COMMANDS = new Set(["assign", "release", "start-batch", "drop"]);
