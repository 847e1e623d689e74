/** What several processes count, told as of one server. */
import { expect, test } from "vitest";
import { head, line, metric } from "../../../../runtime/server/metrics/exposition.ts";
import { AcceptorCounts } from "../../../../runtime/server/processes/acceptor-counts.ts";

const REQUESTS = "stratagem_http_requests_total";
const BYTES = "stratagem_request_bytes";

function counted(ok: number, bytes: number) {
  return [
    head(REQUESTS, "counter", "requests"),
    line(REQUESTS, { code: "200" }, ok),
    ...metric(BYTES, "gauge", "bytes", bytes),
    ...metric("stratagem_slo_seconds", "gauge", "not to be summed", 0.1),
    ...metric("process_cpu_seconds_total", "counter", "time", 1),
  ];
}

function samplesOf(lines: ReturnType<AcceptorCounts["summed"]>, name: string, label?: string) {
  return lines.flatMap((one) =>
    one.kind === "sample" && one.name === name && Object.values(one.labels)[0] === label
      ? [one.value]
      : [],
  );
}

test("counters and what is held are summed, and stay as a process goes", () => {
  const counts = new AcceptorCounts();
  counts.set(0, counted(5, 100));
  counts.set(1, counted(7, 10));
  const own = counted(0, 0);
  const told = counts.summed(own);
  expect(samplesOf(told, REQUESTS, "200")).toEqual([12]);
  expect(samplesOf(told, BYTES)).toEqual([110]);
  expect(samplesOf(told, "stratagem_slo_seconds")).toEqual([0.1]);
  expect(samplesOf(told, "process_cpu_seconds_total")).toEqual([3]);
  counts.end(1);
  counts.set(1, counted(1, 1));
  const after = counts.summed(own);
  expect(samplesOf(after, REQUESTS, "200")).toEqual([13]);
  expect(samplesOf(after, BYTES)).toEqual([101]);
  expect(samplesOf(after, "stratagem_process_cpu_seconds_total", "acceptor-1")).toEqual([1]);
});

test("a label that only others have is told", () => {
  const counts = new AcceptorCounts();
  counts.set(0, [head(REQUESTS, "counter", "requests"), line(REQUESTS, { code: "404" }, 2)]);
  expect(samplesOf(counts.summed(counted(1, 0)), REQUESTS, "404")).toEqual([2]);
});
