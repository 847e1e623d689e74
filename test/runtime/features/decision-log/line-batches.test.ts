import { expect, test } from "vitest";
import { LineBatches } from "../../../../runtime/features/decision-log/line-batches.ts";
import type {
  Delivery,
  LogDestination,
} from "../../../../runtime/features/decision-log/log-destination.ts";

const AWAY: Delivery = { kind: "away", reason: "nobody listens" };
const TAKEN: Delivery = { kind: "taken" };
const REFUSED: Delivery = { kind: "refused", reason: "it answered 400" };

/** A destination that answers as it is told, then takes everything. */
function batches(answers: readonly Delivery[], maxWaiting?: number) {
  const left = [...answers];
  const taken: string[] = [];
  const tried: string[] = [];
  const notices: string[] = [];
  const pauses: number[] = [];
  const destination: LogDestination = {
    name: "there",
    send: async (text) => {
      tried.push(text);
      const answer = left.shift() ?? TAKEN;
      if (answer.kind === "taken") taken.push(text);
      return answer;
    },
  };
  const log = new LineBatches({
    destination,
    onNotice: (message) => notices.push(message),
    pause: async (ms) => void pauses.push(ms),
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
  });
  return { log, taken, tried, notices, pauses };
}

test("lines are sent in batches, in order and undivided", async () => {
  const { log, taken } = batches([]);
  const lines = Array.from({ length: 20 }, (_, index) => `${index} ${"x".repeat(50_000)}`);
  for (const line of lines) log.write(line);
  await log.flush();
  expect(taken.length).toBeGreaterThan(1);
  expect(taken.join("")).toBe(`${lines.join("\n")}\n`);
  expect([log.writtenCount, log.lostCount]).toEqual([20, 0]);
});

test("an unreachable destination is retried with backoff and reported once", async () => {
  const { log, taken, notices, pauses } = batches([AWAY, AWAY, { ...AWAY, waitMs: 7000 }]);
  log.write("one");
  await log.flush();
  expect(taken).toEqual(["one\n"]);
  expect(pauses).toEqual([250, 500, 7000]);
  expect(notices).toEqual([
    "decision log there: lines cannot be written: nobody listens",
    "decision log there: lines are written again",
  ]);
});

test("memory stays bounded during an outage, and the log marks missing lines", async () => {
  const { log, taken } = batches([AWAY], 10);
  expect(["aaaa", "bbbb", "cccc", "d"].map((line) => log.write(line))).toEqual([
    ...[true, true, false, false],
  ]);
  await log.flush();
  expect(log.write("eeee")).toBe(true);
  await log.flush();
  expect(taken).toEqual(["aaaa\nbbbb\n", '{"kind":"lost","lines":2}\neeee\n']);
  expect([log.writtenCount, log.lostCount]).toEqual([3, 2]);
});

test("rejected lines are lost, and the next batch has their number", async () => {
  const { log, taken, tried } = batches([REFUSED]);
  log.write("one");
  log.write("two");
  await log.flush();
  log.write("three");
  await log.flush();
  expect(tried[0]).toBe("one\ntwo\n");
  expect(taken).toEqual(['{"kind":"lost","lines":2}\nthree\n']);
  expect([log.writtenCount, log.lostCount]).toEqual([1, 2]);
});

test("marks of lost lines in a rejected batch are added up", async () => {
  const { log, taken } = batches([REFUSED, REFUSED]);
  for (const line of ["one", "two", "three"]) {
    log.write(line);
    await log.flush();
  }
  expect(taken).toEqual(['{"kind":"lost","lines":2}\nthree\n']);
});
