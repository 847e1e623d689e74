import { describe, expect, test } from "vitest";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { casesOf } from "../../../../support/cases.ts";
import { type FrontEnd, World } from "./front-end-world.ts";

const QUIET = { lossShare: 0, mostDelayMs: 10, clockRate: 0 };

function workersTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `w${index}`);
}

/** Every worker has one holder that is alive, and the shares differ by one at most. */
function expectDivided(world: World, workers: readonly string[]): void {
  const holders = new Map<string, string>();
  for (const end of world.alive) {
    for (const [worker, { isLeaving }] of end.book.held()) {
      expect(isLeaving).toBe(false);
      expect(holders.get(worker)).toBeUndefined();
      holders.set(worker, end.name);
    }
  }
  expect([...holders.keys()].sort()).toEqual([...workers].sort());
  const counts = world.alive.map(({ book }) => book.held().size);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
}

function one<T>(items: readonly T[], rng: Rng): T | undefined {
  return items[Math.floor(rng.nextFloat() * items.length)];
}

/** What may happen to a cluster in a moment. */
function befall(world: World): void {
  const { rng } = world;
  const chance = rng.nextFloat();
  const victim = one<FrontEnd>(world.alive, rng);
  if (chance < 0.2 && world.alive.length < 5) world.start();
  else if (chance < 0.35 && victim !== undefined && world.alive.length > 1) victim.isDead = true;
  else if (chance < 0.6 && victim !== undefined) {
    victim.isStopped = true;
    world.later(rng.nextFloat() * 8000, () => victim.goOn());
  } else if (chance < 0.75) {
    world.isAway = true;
    world.later(rng.nextFloat() * 8000, () => back(world));
  }
}

/** The store answers again, and tells everybody all that it has. */
function back(world: World): void {
  world.isAway = false;
  for (const end of world.alive) for (const key of world.keys()) end.hear(key);
}

describe("leases of workers", () => {
  test("no two front ends ever have the same epoch, and every worker gets a holder", () => {
    let refused = 0;
    for (let seed = 1; seed <= casesOf(200); seed++) {
      const rng = new Rng(seed, 77);
      const workers = workersTo(1 + Math.floor(rng.nextFloat() * 9));
      const lossShare = rng.nextFloat() * 0.3;
      const mostDelayMs = rng.nextFloat() * 1500;
      const options = { rng, workers, lossShare, mostDelayMs, clockRate: 0.05 };
      const world = new World(options);
      world.start();
      world.start();
      for (let ms = 0; ms < 40_000; ms += 1000) {
        world.later(ms + rng.nextFloat() * 1000, () => befall(world));
      }
      world.run(50_000);
      // From now on all is well: nothing is lost, and whoever is there goes on.
      for (const end of world.alive) end.goOn();
      Object.assign(world.options, QUIET);
      back(world);
      world.run(62_000);
      expectDivided(world, workers);
      refused += world.refused;
    }
    // The schedules are hard enough for late front ends to be fenced.
    expect(refused).toBeGreaterThan(0);
  }, 60_000);

  test("the workers of a dead front end are claimed within three seconds", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const workers = workersTo(8);
      const world = new World({ rng: new Rng(seed, 78), workers, ...QUIET });
      const [first, second] = [world.start(), world.start()];
      world.run(5000 + 37 * seed);
      expectDivided(world, workers);
      const before = second.book.held();
      first.isDead = true;
      world.run(8000 + 37 * seed);
      expectDivided(world, workers);
      // What it had it has kept, in the same epoch; the rest in later ones than the dead one had.
      for (const [worker, { epoch }] of before) {
        expect(second.book.held().get(worker)?.epoch).toBe(epoch);
      }
      for (const [worker, { epoch }] of first.book.held()) {
        expect(second.book.held().get(worker)?.epoch).toBeGreaterThan(epoch);
      }
    }
  });

  test("no front end is considered dead during an outage of the store or just after it", () => {
    const workers = workersTo(6);
    const world = new World({ rng: new Rng(1, 79), workers, ...QUIET });
    const ends = [world.start(), world.start(), world.start()];
    world.run(5000);
    const before = ends.map(({ book }) => book.held());
    world.isAway = true;
    world.run(35_000);
    expect(ends.map(({ book }) => book.held())).toEqual(before);
    back(world);
    world.run(45_000);
    expect(ends.map(({ book }) => book.held())).toEqual(before);
  });

  test("a suspended front end loses its workers and gets a share again when it resumes", () => {
    const workers = workersTo(4);
    const world = new World({ rng: new Rng(1, 80), workers, ...QUIET });
    const [first, second] = [world.start(), world.start()];
    world.run(5000);
    first.isStopped = true;
    world.run(8000);
    expect(second.book.held().size).toBe(4);
    first.goOn();
    world.run(10_000);
    expectDivided(world, workers);
    expect(first.book.held().size).toBe(2);
  });

  test("a leaving front end returns its workers at once", () => {
    const workers = workersTo(5);
    const world = new World({ rng: new Rng(1, 81), workers, ...QUIET });
    const [first, second] = [world.start(), world.start()];
    world.run(5000);
    first.book.leave();
    world.run(5600);
    expect(first.book.hasLeft).toBe(true);
    world.run(8000);
    expect(second.book.held().size).toBe(5);
  });

  test("a busy worker is returned when it is idle", () => {
    const workers = workersTo(2);
    const world = new World({ rng: new Rng(1, 82), workers, ...QUIET });
    const first = world.start();
    world.run(2000);
    const { book } = first;
    book.onBeat("other", { qps: 1, variance: 1 }, 1000, first.clockMs);
    expect(book.tick(first.clockMs, () => false).filter(({ kind }) => kind === "lease")).toEqual(
      [],
    );
    const leaving = [...book.held()].filter(([, { isLeaving }]) => isLeaving);
    expect(leaving.length).toBe(1);
    const writes = book.tick(first.clockMs, () => true);
    expect(writes.filter(({ kind }) => kind === "lease")).toMatchObject([
      { worker: leaving[0]?.[0], lease: { holder: null, epoch: 1 } },
    ]);
    expect(book.held().size).toBe(1);
  });

  test("a worker is claimed with an epoch above the one it has seen", () => {
    const world = new World({ rng: new Rng(1, 83), workers: ["w0"], ...QUIET });
    const { book } = world.start();
    world.run(2000);
    book.onWorkers([{ name: "w0", pool: "cpu", epoch: 7 }]);
    expect(book.held().size).toBe(0);
    world.run(3000);
    expect(book.held().get("w0")?.epoch).toBe(8);
  });

  test("the load of the others is known only while their beats arrive", () => {
    const world = new World({ rng: new Rng(1, 84), workers: ["w0", "w1", "w2"], ...QUIET });
    const [first] = [world.start(), world.start(), world.start()];
    world.run(5000);
    const load = () => first.book.othersLoad(first.clockMs);
    expect(load()).toEqual({ qps: 200, variance: 400 });
    world.isAway = true;
    world.run(10_000);
    expect(load()).toBeNull();
    back(world);
    world.run(12_000);
    expect(load()).toEqual({ qps: 200, variance: 400 });
  });
});
