/** Retention of answered requests, bounded in time and number. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { AnsweredRequests } from "../../../../runtime/features/feedback/answered-requests.ts";

const [MAX_ROWS, KEPT_MS] = [6, 50];

test("keeps the same requests as a list of all answers", () => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 9 }),
    client: fc.constantFrom("", "ci"),
    rows: fc.integer({ min: 1, max: 7 }),
    what: fc.constantFrom("keep", "keep", "find", "settle"),
    passMs: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const requests = new AnsweredRequests(MAX_ROWS, KEPT_MS);
      let all: { key: string; rows: number; atMs: number; isSettled: boolean }[] = [];
      let nowMs = 0;
      for (const { id, client, rows, what, passMs } of steps) {
        nowMs += passMs;
        const [asker, key] = [{ id: `r${id}`, client }, `${id}/${client}`];
        if (what === "keep") {
          const variants = new Array<string>(rows).fill("small");
          requests.keep(asker, { variants, predictions: undefined }, nowMs);
          all = all.filter((one) => one.key !== key);
          if (rows <= MAX_ROWS) all.push({ key, rows, atMs: nowMs, isSettled: false });
        } else if (what === "settle") {
          requests.settle(asker);
          for (const one of all) if (one.key === key) one.isSettled = true;
        }
        const found = what === "find" ? requests.find(asker, nowMs) : undefined;
        if (what !== "settle") {
          all = all.filter(({ atMs }) => nowMs - atMs <= KEPT_MS);
          const rowsOf = () => all.reduce((sum, one) => sum + one.rows, 0);
          while (rowsOf() > MAX_ROWS) all.shift();
          expect(requests.rows).toBe(rowsOf());
          expect(requests.bytes).toBe(1600 * all.length + 96 * rowsOf());
        }
        if (what === "find") {
          const known = all.find((one) => one.key === key);
          if (known === undefined) expect(found).toBeUndefined();
          else if (known.isSettled) expect(found).toBeNull();
          else expect(found?.variants).toHaveLength(known.rows);
        }
      }
    }),
  );
});
