/** The book of sequences against a plain model of it, and its limits. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { SequenceBook, type Turn } from "../../../../runtime/server/sequences/sequence-book.ts";

const ZEROS = [new Uint8Array(4)];
const LIMITS = { maxSequences: 3, maxSequenceBytes: 14, sequenceIdleMs: 10, maxPending: 2 };

const state = (...bytes: number[]) => [Uint8Array.from(bytes)];

function turnOf(isStart: boolean, isEnd = false): Turn & { readonly found: Uint8Array[] } {
  const found: Uint8Array[] = [];
  return { isStart, isEnd, found, begin: ([own]) => own !== undefined && found.push(own) };
}

test("no more sequences, bytes and waiting requests than may be, whatever is asked", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c", "d", "e"),
    isStart: fc.boolean(),
    isEnd: fc.boolean(),
    afterMs: fc.nat({ max: 6 }),
    /** Requests that are over then, and with how many bytes of state; null for a failure. */
    finished: fc.array(fc.option(fc.nat({ max: 9 })), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const book = new SequenceBook(LIMITS, ZEROS);
      const running: string[] = [];
      let nowMs = 0;
      for (const { key, isStart, isEnd, afterMs, finished } of steps) {
        nowMs += afterMs;
        book.enter(key, { isStart, isEnd, begin: () => void running.push(key) }, nowMs);
        for (const bytes of finished) {
          const over = running.shift();
          if (over === undefined) break;
          book.finish(over, bytes === null ? undefined : [new Uint8Array(bytes)], nowMs);
        }
        expect(new Set(running).size).toBe(running.length);
        expect(book.size).toBeLessThanOrEqual(LIMITS.maxSequences);
        expect(book.heldBytes).toBeLessThanOrEqual(LIMITS.maxSequenceBytes);
        expect(book.waitingCount).toBeLessThanOrEqual(LIMITS.maxPending);
      }
      while (running.length > 0) book.finish(running.shift() ?? "", undefined, nowMs);
      book.endIdle(nowMs + LIMITS.sequenceIdleMs);
      expect([book.size, book.heldBytes, book.waitingCount]).toEqual([0, 0, 0]);
      expect(book.nextEndMs).toBe(Number.POSITIVE_INFINITY);
    }),
  );
});

test("a state of more bytes than there is room for fails its request, and stays as it was", () => {
  const book = new SequenceBook(LIMITS, ZEROS);
  book.enter("a", turnOf(true), 0);
  expect(book.finish("a", state(1, 2, 3, 4, 5, 6), 0)).toBe(true);
  book.enter("b", turnOf(true), 0);
  expect(book.finish("b", state(1, 2, 3, 4, 5, 6, 7, 8, 9), 0)).toBe(false);
  const next = turnOf(false);
  book.enter("b", next, 0);
  expect(next.found).toEqual(ZEROS);
  expect(book.enter("c", turnOf(true), 0)).toBeNull();
  expect(book.enter("d", turnOf(true), 0)).toBe("too-many");
  expect(book.heldBytes).toBe(14);
});

test("sequences whose states are all that may be held leave no room for another", () => {
  const book = new SequenceBook({ ...LIMITS, maxSequenceBytes: 7 }, ZEROS);
  expect(book.enter("a", turnOf(true), 0)).toBeNull();
  expect(book.enter("b", turnOf(true), 0)).toBe("too-much");
  expect(book.finish("a", undefined, 0)).toBe(true);
  expect(book.enter("b", turnOf(true), 10)).toBeNull();
  expect(book.counts).toEqual({ ended: 0, idle: 1, replaced: 0 });
});

test("a sequence with a request is not idle, however long that takes", () => {
  const book = new SequenceBook(LIMITS, ZEROS);
  book.enter("a", turnOf(true), 0);
  book.endIdle(1000);
  expect(book.size).toBe(1);
  book.finish("a", state(1), 1000);
  expect(book.nextEndMs).toBe(1010);
  const next = turnOf(false, true);
  expect(book.enter("a", next, 1009)).toBeNull();
  expect(next.found).toEqual(state(1));
});

test("a sequence that begins behind the end of another of its name finds zeros", () => {
  const book = new SequenceBook(LIMITS, ZEROS);
  book.enter("a", turnOf(true, true), 0);
  expect(book.enter("a", turnOf(false), 0)).toBe("not-open");
  const next = turnOf(true);
  expect(book.enter("a", next, 0)).toBeNull();
  book.finish("a", state(9), 0);
  expect(next.found).toEqual(ZEROS);
  expect(book.counts).toEqual({ ended: 1, idle: 0, replaced: 0 });
});

test("a book that is drained begins none", () => {
  const book = new SequenceBook(LIMITS, ZEROS);
  book.enter("a", turnOf(true), 0);
  book.drain();
  expect(book.enter("b", turnOf(true), 0)).toBe("draining");
  expect(book.enter("a", turnOf(false), 0)).toBeNull();
});
