import { expect, test } from "vitest";
import { ArrivalBook, arrivalsIn } from "../../../../runtime/server/shadow-policy/arrival-book.ts";
import { arrivalsTrace } from "../../../../runtime/server/shadow-policy/arrivals-trace.ts";

test("keeps what came, several at once as several", () => {
  const book = new ArrivalBook(100);
  book.note(110, 1);
  book.note(120, 3);
  expect([...book.after(book.fromMs)]).toEqual([110, 120, 120, 120]);
  expect([...book.after(110)]).toEqual([120, 120, 120]);
});

test("a time before the last one counts as that", () => {
  const book = new ArrivalBook(0);
  book.note(20, 1);
  book.note(10, 1);
  expect([...book.after(0)]).toEqual([20, 20]);
});

test("lets go of the oldest in chunks, and has all since the time that it tells", () => {
  const book = new ArrivalBook(0, 1e9, 3 * 4096);
  for (let ms = 1; ms <= 50_000; ms++) book.note(ms, 1);
  expect(book.count).toBeLessThanOrEqual(3 * 4096);
  expect(book.count).toBeGreaterThan(2 * 4096);
  expect(book.fromMs).toBe(50_000 - book.count);
  expect(book.after(book.fromMs)).toHaveLength(book.count);
});

test("lets go of what is older than it is to keep", () => {
  const book = new ArrivalBook(0, 1000);
  for (let ms = 1; ms <= 4096; ms++) book.note(ms, 1);
  book.note(1e6, 1);
  expect([book.count, book.fromMs]).toEqual([1, 4096]);
});

test("knows what comes with the entries of every method", () => {
  const nowMs = 0;
  const entries = [
    { kind: "arrival", query: 1, nowMs },
    { kind: "joint-arrival", query: 1, nowMs },
    { kind: "joint-end", nowMs },
    { kind: "refused", queries: 4, nowMs },
    { kind: "request", nowMs },
    { kind: "query", query: 1, task: 0, nowMs },
    { kind: "query", query: 1, model: 0, batch: 8, nowMs },
    { kind: "start-batch", worker: 0, queries: [1, 2] },
  ];
  expect(entries.map(arrivalsIn)).toEqual([1, 1, 0, 4, 1, 0, 1, 0]);
});

test("is told as a trace", async () => {
  const trace = await arrivalsTrace(Float64Array.of(1000, 1000.25, 3000), 1000, "three");
  expect(Buffer.from(trace).toString()).toBe("# three\narrivalMs\n0.000\n0.250\n2000.000\n");
});
