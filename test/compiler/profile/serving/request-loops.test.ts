/** How requests follow each other, on a clock that only sleeping moves. */
import { expect, test } from "vitest";
import { inTheirTime } from "../../../../compiler/profile/serving/request-loops.ts";

function clock() {
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  return { nowMs: () => nowMs, sleep };
}

const { signal } = new AbortController();

test("requests come in their time, whether or not those before them are answered", async () => {
  const time = clock();
  const sentMs: number[] = [];
  let answer = (_: number) => {};
  const first = new Promise<number>((resolve) => {
    answer = resolve;
  });
  const ask = () => {
    sentMs.push(time.nowMs());
    // The first is answered when the last is sent.
    if (sentMs.length === 4) answer(9);
    return sentMs.length === 1 ? first : Promise.resolve(1);
  };
  const end = { leastMs: 50, fewest: 1, mostMs: 100 };
  const took = await inTheirTime(ask, () => 10, end, time, signal);
  expect(sentMs).toEqual([10, 20, 30, 40]);
  expect(took.toSorted()).toEqual([1, 1, 1, 9]);
});

test("it goes on until there are enough, but no longer than it may", async () => {
  const time = clock();
  const few = { leastMs: 0, fewest: 7, mostMs: 1e6 };
  expect(
    await inTheirTime(
      async () => 1,
      () => 10,
      few,
      time,
      signal,
    ),
  ).toHaveLength(7);
  const short = { leastMs: 0, fewest: 1e6, mostMs: 100 };
  expect(
    await inTheirTime(
      async () => 1,
      () => 10,
      short,
      time,
      signal,
    ),
  ).toHaveLength(9);
});

test("while very many are under way none is sent", async () => {
  const time = clock();
  const answers: ((ms: number) => void)[] = [];
  const answerAll = () => {
    for (const answer of answers.splice(0)) answer(1);
  };
  let most = 0;
  const ask = () => {
    const asked = new Promise<number>((resolve) => answers.push(resolve));
    most = Math.max(most, answers.length);
    if (answers.length === 256) setImmediate(answerAll);
    return asked;
  };
  const end = { leastMs: 0, fewest: 512, mostMs: 1e6 };
  expect(await inTheirTime(ask, () => 0.1, end, time, signal)).toHaveLength(512);
  expect(most).toBe(256);
});

test("it ends with the reason of the signal", async () => {
  const time = clock();
  const end = { leastMs: 1000, fewest: 1, mostMs: 1000 };
  const stopped = AbortSignal.abort(new Error("enough"));
  await expect(
    inTheirTime(
      async () => 1,
      () => 1,
      end,
      time,
      stopped,
    ),
  ).rejects.toThrow("enough");
});
