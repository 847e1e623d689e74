/** Membership by beats and their times. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  BEAT_MS,
  MemberBook,
  SILENT_MS,
} from "../../../../runtime/features/cluster/member-book.ts";
import type { WorkerState } from "../../../../runtime/features/cluster/worker-state.ts";

function state(name: string, session = "1", more: Partial<WorkerState> = {}): WorkerState {
  return {
    ...{ name, session, url: `http://${name}:8000`, pool: "default", cores: 1, device: "cpu" },
    ...{ provider: "cpu", models: [], isLeaving: false, epoch: 0, ...more },
  };
}

function names(book: MemberBook): string[] {
  return book.members.map(({ name }) => name);
}

/** Looks as often as whoever drives it does. @returns how often the members changed. */
function look(book: MemberBook, fromMs: number, toMs: number): number {
  let changes = 0;
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += BEAT_MS / 2) if (book.onLook(nowMs)) changes++;
  return changes;
}

test("three missing beats exclude a worker, and the next beat includes it again", () => {
  const book = new MemberBook();
  book.onBack(0);
  expect(book.onBeat(state("a"), 0)).toBe("changed");
  expect(look(book, 0, SILENT_MS)).toBe(0);
  expect(names(book)).toEqual(["a"]);
  expect(book.onLook(SILENT_MS + 1)).toBe(true);
  expect(names(book)).toEqual([]);
  expect(book.onBeat(state("a"), 5000)).toBe("changed");
  expect(names(book)).toEqual(["a"]);
});

test("a beat with a new state is a change, and a repeated one is not", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("b"), 0);
  book.onBeat(state("a"), 0);
  const { members } = book;
  expect(book.onBeat(state("a"), 1000)).toBe("same");
  expect(book.members).toBe(members);
  expect(book.onBeat(state("a", "1", { cores: 2 }), 2000)).toBe("changed");
  expect(book.members.map(({ cores }) => cores)).toEqual([2, 1]);
  expect(book.onBeat(state("a", "1", { isLeaving: true }), 2500)).toBe("changed");
  expect(names(book)).toEqual(["b"]);
  expect(book.onBeat(state("a", "1", { isLeaving: true }), 3500)).toBe("same");
});

test("no worker is silent during an outage, and each gets a full grace period after it", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("a"), 0);
  book.onBeat(state("b"), 0);
  book.onAway(1000);
  expect(look(book, 1000, 600_000)).toBe(0);
  expect(book.forget(1, 600_000)).toEqual([]);
  book.onBack(600_000);
  book.onBeat(state("b"), 603_000);
  expect(look(book, 600_500, 600_000 + SILENT_MS)).toBe(0);
  expect(look(book, 600_000 + SILENT_MS + 1, 604_500)).toBe(1);
  expect(names(book)).toEqual(["b"]);
});

test("a front end that was suspended waits before it excludes workers", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("a"), 0);
  expect(look(book, 0, 2000)).toBe(0);
  expect(book.onLook(60_000)).toBe(false);
  expect(look(book, 60_500, 60_000 + SILENT_MS)).toBe(0);
  expect(look(book, 60_000 + SILENT_MS + 1, 64_000)).toBe(1);
});

test("an answer counts as a beat of a member but does not admit a worker", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("a"), 0);
  for (let nowMs = 0; nowMs < 60_000; nowMs += 500) {
    book.onHeard("a", nowMs);
    book.onHeard("nobody", nowMs);
    expect(book.onLook(nowMs)).toBe(false);
  }
  expect(names(book)).toEqual(["a"]);
});

test("workers with missing beats are checked, except during an outage", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("a"), 0);
  book.onBeat(state("b"), 1000);
  expect(book.doubtful(2000)).toEqual([]);
  expect(book.doubtful(2001).map(({ name }) => name)).toEqual(["a"]);
  book.onHeard("a", 2001);
  expect(book.doubtful(3001).map(({ name }) => name)).toEqual(["b"]);
  book.onAway(3001);
  expect(book.doubtful(9000)).toEqual([]);
});

test("of two workers with one name the later one keeps it until it is silent", () => {
  const book = new MemberBook();
  book.onBack(0);
  book.onBeat(state("a", "old"), 0);
  expect(book.onBeat(state("a", "new"), 100)).toBe("changed");
  expect(book.onBeat(state("a", "old"), 1000)).toBe("another");
  expect(book.members[0]?.session).toBe("new");
  look(book, 1000, 100 + SILENT_MS + 500);
  expect(book.onBeat(state("a", "old"), 5000)).toBe("changed");
});

test("a stored state admits a worker for the time of allowed silence", () => {
  const book = new MemberBook();
  book.onBack(0);
  expect(book.onKept(state("a"), 0)).toBe(true);
  book.onBeat(state("b", "2"), 10);
  expect(book.onKept(state("b", "1"), 20)).toBe(false);
  expect(book.members.map(({ session }) => session)).toEqual(["1", "2"]);
  look(book, 0, SILENT_MS + 1);
  book.onLook(SILENT_MS + 11);
  expect(book.forget(10_000, 9000)).toEqual([]);
  expect(book.forget(10_000, 10_011)).toEqual(["a", "b"]);
  expect(book.onKept(state("a"), 11_000)).toBe(true);
});

test("a member was heard recently unless there was an outage", () => {
  const event = fc.record({
    afterMs: fc.integer({ min: 0, max: 900 }),
    name: fc.constantFrom("a", "b", "c"),
    session: fc.constantFrom("1", "2"),
    what: fc.constantFrom("beat", "leave", "kept", "heard", "away", "back", "nothing"),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 120 }), (events) => {
      const book = new MemberBook();
      const heardMs = new Map<string, number>();
      let [nowMs, isAway, backMs] = [0, true, 0];
      for (const { afterMs, name, session, what } of events) {
        nowMs += afterMs;
        const before = book.members;
        let isChanged = book.onLook(nowMs);
        const wasMember = names(book).includes(name);
        if (what === "away") book.onAway(nowMs);
        if (what === "back") book.onBack(nowMs);
        isAway = what === "away" || (isAway && what !== "back");
        if (what === "back") backMs = nowMs;
        if (what === "heard") book.onHeard(name, nowMs);
        if (what === "kept") isChanged = book.onKept(state(name, session), nowMs) || isChanged;
        if (what === "beat" || what === "leave") {
          const isLeaving = what === "leave";
          const beaten = book.onBeat(state(name, session, { isLeaving }), nowMs);
          isChanged = beaten === "changed" || isChanged;
          if (beaten !== "another") expect(names(book).includes(name)).toBe(!isLeaving);
        }
        if (what !== "heard" || wasMember) heardMs.set(name, nowMs);
        expect(book.members !== before).toBe(isChanged);
        if (isAway) continue;
        for (const one of names(book)) {
          const sinceMs = Math.max(backMs, heardMs.get(one) ?? Number.NEGATIVE_INFINITY);
          expect(nowMs - sinceMs).toBeLessThanOrEqual(SILENT_MS);
        }
      }
    }),
  );
});
