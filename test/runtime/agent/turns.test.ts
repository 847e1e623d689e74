import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Turn, Turns } from "../../../runtime/agent/turns.ts";

function entered(turns: Turns): Turn {
  const turn = turns.enter();
  if (turn === null) throw new Error("there was to be room");
  return turn;
}

describe("turns", () => {
  test("one batch computes, one waits, a third goes away", async () => {
    const turns = new Turns();
    const [first, second] = [entered(turns), entered(turns)];
    expect(turns.enter()).toBeNull();
    expect(await first.begin()).toBe(true);
    const waiting = second.begin();
    expect(turns.enter()).toBeNull();
    first.leave();
    expect(await waiting).toBe(true);
    expect(turns.isRunning).toBe(true);
    expect(turns.enter()).not.toBeNull();
  });

  test("who has its bytes first computes first, whoever came first", async () => {
    const turns = new Turns();
    const [slow, quick] = [entered(turns), entered(turns)];
    expect(await quick.begin()).toBe(true);
    const waiting = slow.begin();
    quick.leave();
    expect(await waiting).toBe(true);
  });

  test("a batch that nobody waits for gives its place away, unless it computes", async () => {
    const turns = new Turns();
    const [running, waiting] = [entered(turns), entered(turns)];
    await running.begin();
    const begun = waiting.begin();
    running.giveUp();
    expect(turns.isRunning).toBe(true);
    waiting.giveUp();
    expect(await begun).toBe(false);
    expect(await waiting.begin()).toBe(false);
    expect(turns.count).toBe(1);
  });

  test("never lets two compute, and forgets nobody, whatever they do", async () => {
    const step = fc.constantFrom("enter", "begin", "giveUp", "leave");
    const steps = fc.array(fc.tuple(step, fc.nat({ max: 3 })), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (doings) => {
        const turns = new Turns();
        const inside: { turn: Turn; state: "in" | "waits" | "computes" }[] = [];
        for (const [doing, which] of doings) {
          const one = inside[which % Math.max(1, inside.length)];
          if (doing === "enter") {
            const turn = turns.enter();
            expect(turn === null).toBe(inside.length === 2);
            if (turn !== null) inside.push({ turn, state: "in" });
          } else if (one !== undefined && doing === "begin" && one.state === "in") {
            one.state = "waits";
            void one.turn.begin().then((isMine) => {
              one.state = isMine ? "computes" : "waits";
            });
          } else if (one !== undefined && doing !== "begin") {
            const isKept = doing === "giveUp" && one.state === "computes";
            one.turn[doing]();
            if (!isKept) inside.splice(inside.indexOf(one), 1);
            else expect(turns.isRunning).toBe(true);
          }
          await Promise.resolve();
          await Promise.resolve();
          const computing = inside.filter(({ state }) => state === "computes").length;
          expect(computing).toBeLessThanOrEqual(1);
          expect(turns.isRunning).toBe(computing === 1);
          const waiting = inside.filter(({ state }) => state === "waits").length;
          // Nobody waits for nothing.
          if (waiting > 0) expect(computing).toBe(1);
          expect(turns.count).toBe(inside.length);
        }
      }),
    );
  });
});
