/** Contents and times of status reports. */
import { afterEach, expect, test } from "vitest";
import { AwayError } from "../../../../runtime/features/sources/source-error.ts";
import { StatusReports } from "../../../../runtime/features/sources/status-reports.ts";

interface Waiting {
  readonly ms: number;
  readonly end: () => void;
}

const open: StatusReports[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** A receiver that takes documents or fails as it is told, and a clock that is turned by hand. */
function desk() {
  const taken: object[] = [];
  const waits: Waiting[] = [];
  let onWait = () => {};
  const state = { now: 0, failure: null as Error | null };
  const reports = new StatusReports({
    url: "https://fleet.example/status",
    client: {
      post: async (_, document) => {
        if (state.failure !== null) throw state.failure;
        taken.push(document);
      },
    },
    document: () => ({ now: state.now }),
    pace: { pollMs: 60_000, random: () => 1 },
    onNotice: () => {},
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const end = () => resolve();
        waits.push({ ms, end });
        if (signal.aborted) end();
        signal.addEventListener("abort", end, { once: true });
        onWait();
      }),
  });
  open.push(reports);
  /** Until it waits for the nth time. */
  const waited = (count: number) =>
    new Promise<Waiting>((resolve) => {
      onWait = () => {
        const last = waits.at(-1);
        if (waits.length >= count && last !== undefined) resolve(last);
      };
      onWait();
    });
  return { reports, taken, state, waited };
}

test("a report is sent at the start, at each change, and every 5 minutes without one", async () => {
  const { reports, taken, state, waited } = desk();
  expect((await waited(1)).ms).toBe(300_000);
  expect(taken).toEqual([{ now: 0 }]);
  state.now = 1;
  reports.changed();
  const second = await waited(2);
  expect(taken).toEqual([{ now: 0 }, { now: 1 }]);
  state.now = 2;
  second.end();
  await waited(3);
  expect(taken.at(-1)).toEqual({ now: 2 });
});

test("an unreachable receiver is retried with backoff and gets the latest status", async () => {
  const { reports, taken, state, waited } = desk();
  await waited(1);
  state.failure = new AwayError("away");
  reports.changed();
  const first = await waited(2);
  expect(first.ms).toBe(1000);
  // It is not asked sooner because there is more to tell.
  state.now = 1;
  reports.changed();
  first.end();
  const second = await waited(3);
  expect(second.ms).toBe(2000);
  state.now = 2;
  state.failure = null;
  second.end();
  expect((await waited(4)).ms).toBe(300_000);
  expect(taken).toEqual([{ now: 0 }, { now: 2 }]);
  const [, ...lines] = reports.lines();
  expect(lines.map((line) => (line.kind === "sample" ? line.value : null))).toEqual([2, 2]);
});

test("the wait that the receiver requests is respected", async () => {
  const { reports, state, waited } = desk();
  await waited(1);
  state.failure = new AwayError("busy", 90_000);
  reports.changed();
  expect((await waited(2)).ms).toBe(90_000);
});
