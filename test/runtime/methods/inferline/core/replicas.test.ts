import { describe, expect, test } from "vitest";
import { B, chain, told } from "../../../../support/inferline-chain.ts";
import { InferlineDriver } from "../../../../support/inferline-driver.ts";

describe("replicas", () => {
  test("come up as planned, and in every task before a second one in any", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 3],
        [1, 2],
      ]),
    );
    for (let worker = 0; worker < 8; worker++) driver.comeUp(worker);
    expect(driver.placed).toBe("(a) (b) (a) (b) (a) - - -");
    expect(driver.dispatcher.servers).toBe(5);
    expect([...driver.dispatcher.assignedByTask]).toEqual([3, 2]);
    expect([...driver.dispatcher.readyByTask]).toEqual([0, 0]);
  });

  test("are added as the tuner says, the smallest part of a target first", () => {
    const { driver, tell } = told(
      chain(
        [
          [1, 1],
          [1, 1],
        ],
        { workers: [5] },
      ),
    );
    tell(4, 4);
    expect(driver.placed).toBe("a b (a) (b) (a)");
    expect([...driver.dispatcher.targetsByTask]).toEqual([4, 4]);
    driver.finishLoads();
    expect([...driver.dispatcher.readyByTask]).toEqual([3, 2]);
  });

  test("that are too many go while idle, the highest indices first", () => {
    const { driver, tell } = told(
      chain([
        [1, 4],
        [1, 1],
      ]),
    );
    expect(driver.placed).toBe("a b a a a - - -");
    tell(2, 1);
    expect(driver.placed).toBe("a b a - - - - -");
    expect(driver.log.slice(-2)).toEqual(["release 3", "release 4"]);
  });

  test("that still load go before a ready one that would be missed", () => {
    const { driver, tell } = told(
      chain([
        [1, 1],
        [1, 1],
      ]),
    );
    tell(4, 1);
    expect(driver.placed).toBe("a b (a) (a) (a) - - -");
    tell(2, 1);
    expect(driver.placed).toBe("a b (a) - - - - -");
  });

  test("that are busy finish their batch before they go", () => {
    const { driver, tell } = told(
      chain([
        [1, 3],
        [1, 1],
      ]),
    );
    for (let n = 0; n < 4; n++) driver.request();
    driver.endEvent();
    expect(driver.placed).toBe("a! b a! a! - - - -");
    tell(1, 1);
    expect(driver.placed).toBe("a! b a! a! - - - -");
    expect([...driver.dispatcher.assignedByTask]).toEqual([3, 1]);
    driver.finish(3);
    expect(driver.log.at(-1)).toBe("release 3");
    driver.endEvent();
    // The fourth request was not given to the one that left.
    expect(driver.queues[0]).toEqual([6]);
    driver.finish(0);
    driver.endEvent();
    expect(driver.running[0]).toEqual([6]);
    driver.finish(2);
    expect(driver.placed).toBe("a! b! - - - - - -");
    while (driver.states.includes("busy")) {
      for (let worker = 0; worker < 8; worker++) driver.finish(worker);
      driver.endEvent();
    }
    expect([...driver.done].sort()).toEqual([0, 1, 2, 3]);
  });

  test("that are leaving stay after all when the target rises again", () => {
    const { driver, tell } = told(
      chain([
        [1, 3],
        [1, 1],
      ]),
    );
    for (let n = 0; n < 3; n++) driver.request();
    driver.endEvent();
    tell(1, 1);
    tell(2, 1);
    const { length } = driver.log;
    driver.finish(2);
    driver.finish(3);
    expect(driver.log.slice(length)).toEqual(["release 3"]);
    expect(driver.placed).toBe("a! b a - - - - -");
  });

  test("that go can become another task's in the same moment, without a release", () => {
    const { driver, tell } = told(
      chain(
        [
          [1, 3],
          [1, 1],
        ],
        { workers: [4] },
      ),
    );
    const { length } = driver.log;
    tell(1, 3);
    expect(driver.log.slice(length)).toEqual(["assign 2 b/b", "assign 3 b/b"]);
    expect(driver.placed).toBe("a b (b) (b)");
  });

  test("change no more often than targets do", () => {
    const { driver, tell } = told(
      chain([
        [1, 2],
        [1, 2],
      ]),
    );
    const { length } = driver.log;
    tell(2, 2);
    driver.passTo(60_000);
    expect(driver.log.slice(length)).toEqual([]);
  });
});

describe("workers that are lost", () => {
  test("are replaced by others, and come back as spares", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 2],
        [1, 1],
      ]),
    ).start();
    expect(driver.placed).toBe("a b a - - - - -");
    driver.request();
    driver.endEvent();
    driver.lose(0);
    expect(driver.placed).toBe("x b a (a) - - - -");
    expect([...driver.failed]).toEqual([0]);
    driver.comeUp(0);
    expect(driver.placed).toBe("- b a (a) - - - -");
  });

  test("are missed fairly when there is no other, and every task keeps one", () => {
    const driver = new InferlineDriver(
      chain(
        [
          [1, 2],
          [1, 2],
        ],
        { workers: [4] },
      ),
    ).start();
    expect(driver.placed).toBe("a b a b");
    driver.lose(1);
    driver.lose(3);
    // The only other worker of the first task becomes one of the second.
    expect(driver.placed).toBe("a x (b) x");
    driver.lose(0);
    // With one worker the first task has it.
    expect(driver.placed).toBe("x x (a) x");
    for (const worker of [0, 1, 3]) driver.comeUp(worker);
    driver.finishLoads();
    expect(driver.placed).toBe("b a a b");
  });

  test("move a task whose pool has no other to another pool until they are back", () => {
    const bundle = chain(
      [
        [4, 2, 0],
        [1, 1, 1],
      ],
      {
        tasks: [
          {
            name: "a",
            latencyMs: [
              { 1: 10, 4: 25 },
              { 1: 40, 2: 60 },
            ],
          },
          B,
        ],
        workers: [2, 3],
      },
    );
    const driver = new InferlineDriver(bundle).start();
    expect(driver.placed).toBe("a a b - -");
    driver.lose(0);
    driver.lose(1);
    expect(driver.placed).toBe("x x b (a) -");
    driver.finishLoads();
    for (let n = 0; n < 5; n++) driver.request();
    driver.endEvent();
    // The largest batch that was profiled there.
    expect(driver.running[3]).toEqual([0, 2]);
    driver.comeUp(1);
    expect(driver.placed).toBe("x (a) b a! -");
    driver.finishLoads();
    expect(driver.running[1]).toEqual([4, 6, 8]);
    driver.finish(3);
    expect(driver.placed).toBe("x a! b - -");
  });
});
