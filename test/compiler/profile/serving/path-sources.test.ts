/** What is read of the server and of the machine, and how requests follow each other. */
import { expect, test } from "vitest";
import { answeredRequests } from "../../../../compiler/explain/logged-request.ts";
import { linuxTime, machineTime } from "../../../../compiler/profile/serving/machine-time.ts";
import { disturbance } from "../../../../compiler/profile/serving/path-window.ts";
import { quietWindows } from "../../../../compiler/profile/serving/quiet-windows.ts";
import { atOnce, oneByOne } from "../../../../compiler/profile/serving/request-loops.ts";
import { servedRequest } from "../../../../compiler/profile/serving/served-request.ts";
import { serverCounters } from "../../../../compiler/profile/serving/server-counters.ts";

test("lines of the access log are those of requests that a model answered", () => {
  const line = {
    ...{
      time: "2026-01-01T00:00:00.000Z",
      requestId: "a",
      status: 200,
      totalMs: 3,
      queueMs: 0.5,
      computeMs: 2,
      batch: 4,
    },
    ...{ responseBytes: 12, variant: "m" },
  };
  const text = [
    JSON.stringify(line),
    JSON.stringify({ ...line, status: 503 }),
    JSON.stringify({ ...line, queueMs: undefined }),
    JSON.stringify(line).slice(0, 40),
  ].join("\n");
  const answered = { queueMs: 0.5, computeMs: 2, totalMs: 3, responseBytes: 12, variant: "m" };
  expect(answeredRequests(text)).toEqual([
    expect.objectContaining({ id: "a", timeMs: Date.parse(line.time), ...answered }),
  ]);
});

test("counters are those of the model that was asked, in ms", () => {
  const text = [
    "# HELP process_cpu_seconds_total text",
    "process_cpu_seconds_total 1.5",
    'nv_inference_request_success{model="m",version="1"} 20',
    'nv_inference_request_success{model="other",version="1"} 7',
    'nv_inference_exec_count{model="m",version="1"} 5',
    'nv_inference_compute_input_duration_us{model="m",version="1"} 2000',
    'nv_inference_compute_output_duration_us{model="m",version="1"} 500',
  ].join("\n");
  const counted = { processorMs: 1500, answered: 20, batches: 5, inputMs: 2, outputMs: 0.5 };
  expect(serverCounters(text, "m")).toEqual(counted);
});

test("the time of the machine is that of all its processors, and what it lost", () => {
  const stat = "cpu  10 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
  expect(linuxTime(stat)).toEqual({ busyMs: 730, idleMs: 4500, stealMs: 80 });
  expect(linuxTime("")).toBeNull();
  const { busyMs, idleMs } = machineTime();
  expect(busyMs + idleMs).toBeGreaterThan(0);
});

const noisy = (steal: number) => ({ machine: { steal, neighbours: 0.01, generator: 0 } });
const bounds = { wanted: 2, most: 4, withinMs: 100 };

test("a window that others disturbed is taken again, and the quietest are kept", async () => {
  const steals = [0.3, 0, 0.2, 0.01];
  const windows = await quietWindows(
    async () => noisy(steals.shift() ?? 1),
    bounds,
    () => 0,
  );
  expect(windows.map(({ machine }) => machine.steal)).toEqual([0, 0.01]);
});

test("noise is put up with once there are enough windows, or time is over", async () => {
  let count = 0;
  const take = async () => noisy(0.1 * ++count);
  await quietWindows(take, bounds, () => 0);
  expect(count).toBe(4);
  await quietWindows(take, bounds, () => 101 * count);
  expect(count).toBe(5);
  expect(disturbance({ steal: null, neighbours: null, generator: 1 })).toBe(0);
});

/** A clock that goes on by what is slept, and requests that take a millisecond of it. */
function clock() {
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  const ask = async () => {
    nowMs++;
    return 1;
  };
  return { nowMs: () => nowMs, sleep, ask };
}

test("requests come one by one until time is over, or there are enough of them", async () => {
  const { signal } = new AbortController();
  const end = { leastMs: 10, fewest: 0, mostMs: 100 };
  const first = clock();
  expect(await oneByOne(first.ask, () => 4, end, first, signal)).toHaveLength(2);
  const slow = clock();
  const few = await oneByOne(slow.ask, () => 4, { ...end, fewest: 7 }, slow, signal);
  expect(few).toHaveLength(7);
  const bounded = clock();
  const most = await oneByOne(bounded.ask, () => 49, { ...end, fewest: 7 }, bounded, signal);
  expect(most).toHaveLength(2);
});

test("many requests are under way at once, and no more once they are aborted", async () => {
  const abort = new AbortController();
  const { nowMs, sleep } = clock();
  let [under, widest, sent] = [0, 0, 0];
  const ask = async () => {
    widest = Math.max(widest, ++under);
    if (++sent === 20) abort.abort(new Error("enough"));
    await sleep(0);
    under--;
    return 1;
  };
  const end = { leastMs: 1, fewest: 1e9, mostMs: 1 };
  const all = atOnce(ask, 5, end, { nowMs, sleep }, abort.signal);
  await expect(all).rejects.toThrow("enough");
  expect(widest).toBe(5);
});

const MODEL = {
  name: "m",
  wantsSequences: true,
  inputs: [{ name: "x", datatype: "FP32", rowShape: [2], rowBytes: 8 }],
};

test("a request says its shape and has its bytes behind its header", () => {
  const { body, headers } = servedRequest(MODEL, 3, () => new Uint8Array(24).fill(1), "s-1");
  const length = Number(headers["inference-header-content-length"]);
  const parameters = { binary_data_size: 24 };
  expect(JSON.parse(body.toString("utf8", 0, length))).toEqual({
    inputs: [{ name: "x", datatype: "FP32", shape: [3, 2], parameters }],
    parameters: {
      binary_data_output: true,
      sequence_id: "s-1",
      sequence_start: true,
      sequence_end: true,
    },
  });
  expect(body.length - length).toBe(24);
});

test("an input of variable length needs a source of rows", () => {
  const [input] = MODEL.inputs;
  const inputs = [{ name: "page", datatype: "BYTES", rowShape: [], rowBytes: null }];
  const send = () => servedRequest({ ...MODEL, inputs }, 1, () => null, null);
  expect(send).toThrow('expected rows for input "page", of type BYTES');
  expect(input).toBeDefined();
});
