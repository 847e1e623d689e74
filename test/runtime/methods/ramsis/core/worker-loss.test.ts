import { expect, it } from "vitest";
import { classBundle } from "../../../../support/class-bundle.ts";
import { TableDriver } from "../../../../support/table-driver.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

it("moves what waited for a lost worker to the others, in the order of the deadlines", () => {
  const cluster = new TableDriver(tinyBundle({ workers: 2, maxQueue: 4, sloMs: 100 }), true);
  for (let arrival = 0; arrival < 6; arrival++) cluster.play({ kind: "arrive", pick: 0 });
  expect([...cluster.running]).toEqual([
    [0, [0]],
    [1, [1]],
  ]);
  cluster.play({ kind: "lose", pick: 0 });
  cluster.play({ kind: "done", pick: 0 });
  expect([...cluster.settled].slice(0, 6).sort()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(cluster.running.get(1)).toEqual([2, 3, 4, 5]);
});

it("gives a class whose worker is lost one that is idle, at once", () => {
  const cluster = new TableDriver(classBundle({ workers: 2, split: [1, 1] }), true);
  cluster.play({ kind: "arrive", pick: 0 });
  cluster.play({ kind: "arrive", pick: 0 });
  expect([...cluster.running]).toEqual([[0, [0]]]);
  cluster.lose(0);
  expect([...cluster.running]).toEqual([[1, [1]]]);
});
