/** A driver on places that are not real, whose clock stands still. */
import { expect } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { accordion } from "../../../../../runtime/methods/accordion/accordion.ts";
import { AccordionScheduler } from "../../../../../runtime/methods/accordion/core/scheduler.ts";
import { AccordionDriver } from "../../../../../runtime/methods/accordion/serve/driver.ts";
import { AccordionMetrics } from "../../../../../runtime/methods/accordion/serve/metrics.ts";
import type {
  AccordionCommand,
  AccordionEvent,
} from "../../../../../runtime/methods/accordion/serve/recording.ts";
import { accordionServedModels } from "../../../../../runtime/methods/accordion/serve/served-models.ts";
import type {
  Answer,
  Outcome,
  Submission,
} from "../../../../../runtime/server/requests/request.ts";
import { replayedBy } from "../../../../support/replayed-by.ts";
import { answeredRow, FakePlaces, rowBytes } from "./fake-places.ts";

export type Entry = AccordionEvent | AccordionCommand;

export interface Driven {
  readonly bundle: AccordionBundle;
  readonly driver: AccordionDriver;
  readonly executor: FakePlaces;
  readonly clock: { nowMs: number };
  readonly log: Entry[];
  readonly metrics: AccordionMetrics;
  /** Places whose worker was told to be lost. */
  readonly places: number;
}

export interface Asked {
  readonly model: number;
  readonly values: readonly number[];
  readonly submission: Submission;
  /** As soon as there is one; more than one would be a mistake. */
  readonly outcomes: Outcome[];
}

/** @param isUp whether all places are ready. */
export function drivenPlaces(bundle: AccordionBundle, maxPending = 64, isUp = true): Driven {
  const clock = { nowMs: 0 };
  const log: Entry[] = [];
  const models = accordionServedModels(bundle);
  const metrics = new AccordionMetrics(models.map(({ signature }) => signature.names[0] ?? ""));
  const driver = new AccordionDriver({
    beatMs: 1000,
    models,
    scheduler: new AccordionScheduler(bundle, { queryCapacity: maxPending }),
    maxPending,
    nowMs: () => clock.nowMs,
    recorder: (entry) => log.push(entry),
    observer: metrics,
  });
  const executor = new FakePlaces(
    {
      onReady: (worker) => driver.onWorkerReady(worker),
      onLost: (worker) => driver.onWorkerLost(worker),
      onReplaced: (worker) => driver.onWorkerReplaced(worker),
    },
    bundle,
  );
  driver.attach(executor);
  const places = bundle.policy.executionPlaces;
  for (let place = 0; isUp && place < places; place++) executor.ready(place);
  return { bundle, driver, executor, clock, log, metrics, places };
}

export interface Query {
  readonly model?: number;
  readonly isHigh?: boolean;
  readonly sloMs?: number;
}

export function ask(
  { driver, clock }: Driven,
  values: readonly number[],
  { model = 0, isHigh = true, sloMs = 200 }: Query = {},
): Asked {
  const inputs = [Uint8Array.from(Buffer.concat(values.map(rowBytes)))];
  const rows = { rows: values.length, inputs };
  const submission = driver.submit(model, rows, clock.nowMs + sloMs, isHigh);
  const outcomes: Outcome[] = [];
  void submission.outcome.then((outcome) => outcomes.push(outcome));
  return { model, values, submission, outcomes };
}

/** Checks that a request was answered, with all its rows in order and nothing else. */
export function expectOwnRows({ bundle }: Driven, { model, values, outcomes }: Asked): Answer {
  const [outcome] = outcomes;
  expect(outcomes).toHaveLength(1);
  if (outcome?.kind !== "answered") throw new Error(`no answer: ${JSON.stringify(outcome)}`);
  const { name, layerCount } = variantOf(bundle, model);
  expect(outcome.answerer.variant).toBe(name);
  expect(outcome.outputs.map(({ shape }) => shape)).toEqual([[values.length, 4]]);
  const bytes = Uint8Array.from(Buffer.concat([...(outcome.outputs[0]?.parts ?? [])]));
  const expected = values.flatMap((value) => answeredRow(value, layerCount));
  expect([...new Float32Array(bytes.buffer)]).toEqual(expected);
  return outcome;
}

function variantOf({ tasks }: AccordionBundle, model: number) {
  const variant = tasks[0]?.variants[model];
  if (variant === undefined) throw new Error(`no model ${model}`);
  return variant;
}

/** Lets everything end that runs, in the order in which it began. */
export async function finishAll({ executor }: Driven): Promise<void> {
  while (executor.held.length > 0) await executor.finish();
}

/** The log, as a fresh scheduler would write it that is told the same events. */
export function replayedPlaces(bundle: AccordionBundle, maxPending: number, log: readonly Entry[]) {
  return replayedBy(accordion.replayer(bundle, { maxPending }), log);
}
