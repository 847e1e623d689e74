import { expect, test } from "vitest";
import { startProgress } from "../../../compiler/commands/progress.ts";

/** A clock that goes on by itself only when told to, and calls back meanwhile. */
function fakeClock() {
  let atMs = 0;
  let next: { atMs: number; readonly intervalMs: number; readonly callback: () => void } | null =
    null;
  return {
    nowMs: () => atMs,
    every: (intervalMs: number, callback: () => void) => {
      next = { atMs: atMs + intervalMs, intervalMs, callback };
      return () => {
        next = null;
      };
    },
    advance: (ms: number) => {
      const endMs = atMs + ms;
      while (next !== null && next.atMs <= endMs) {
        atMs = next.atMs;
        next.atMs += next.intervalMs;
        next.callback();
      }
      atMs = endMs;
    },
  };
}

function fakeStream(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) > 0 };
}

test("without a terminal there is a line every 5 s, and none of shorter work", () => {
  const [clock, stream] = [fakeClock(), fakeStream(false)];
  const progress = startProgress(stream, "measuring", clock);
  progress.update(1, 40);
  clock.advance(4999);
  expect(stream.written).toEqual([]);
  progress.update(10, 40);
  clock.advance(1);
  expect(stream.written).toEqual(["measuring 10/40, 5 s so far, 15 s left\n"]);
  // A unit of work that takes long does not keep the next line back.
  clock.advance(10_000);
  expect(stream.written.slice(1)).toEqual([
    "measuring 10/40, 10 s so far, 30 s left\n",
    "measuring 10/40, 15 s so far, 45 s left\n",
  ]);
});

test("a line says what stage the work is at, and nothing of a total that is not known yet", () => {
  const [clock, stream] = [fakeClock(), fakeStream(false)];
  const progress = startProgress(stream, "measuring", clock);
  clock.advance(5000);
  progress.update(7, 7, "more for 2 cells");
  clock.advance(5000);
  progress.end();
  clock.advance(60_000);
  expect(stream.written).toEqual([
    "measuring, 5 s so far\n",
    "measuring, more for 2 cells 7/7, 10 s so far\n",
  ]);
});

test("notes are lines of their own, also above the bar of a terminal", () => {
  const [clock, lines, terminal] = [fakeClock(), fakeStream(false), fakeStream(true)];
  startProgress(lines, "measuring", clock).note("about 12 min");
  expect(lines.written).toEqual(["about 12 min\n"]);
  const progress = startProgress(terminal, "measuring", clock);
  progress.update(1, 4);
  progress.note("about 12 min");
  progress.end();
  expect(terminal.written[0]).toContain("\r\x1b[Kmeasuring █");
  expect(terminal.written.slice(1)).toEqual(["\r\x1b[Kabout 12 min\n", "\r\x1b[K"]);
});
