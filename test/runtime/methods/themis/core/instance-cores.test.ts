import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CommandBuffer, RESIZE } from "../../../../../runtime/core/command-buffer.ts";
import { ReplicaFleet } from "../../../../../runtime/core/graph/replica-fleet.ts";
import { BUSY, DOWN, IDLE, LOADING, OFF } from "../../../../../runtime/core/graph/worker-fleet.ts";
import { InstanceCores } from "../../../../../runtime/methods/themis/core/instance-cores.ts";
import {
  type ThemisShape,
  themisShapeOf,
} from "../../../../../runtime/methods/themis/core/shape.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";

const TASKS = 2;
const WORKERS = 6;

const SHAPE: ThemisShape = themisShapeOf(
  themisBundle({
    workers: WORKERS,
    cores: null,
    levels: [
      {
        loadQps: 20,
        steady: [
          [1, 1, 3],
          [1, 1, 3],
        ],
      },
    ],
  }),
);

/** A fleet and what is known of its cores, beside a naive list of both. */
class Bench {
  readonly fleet = new ReplicaFleet(SHAPE.replicas);
  readonly cores = new InstanceCores(TASKS, WORKERS);
  readonly naive = new Map<number, { inForce: number; wanted: number }>();
  readonly #out = new CommandBuffer(64, 1);
  readonly #startCores = new Uint32Array(TASKS).fill(1);

  constructor() {
    for (let worker = 0; worker < WORKERS; worker++) this.fleet.comeUp(worker);
  }

  /** Of each instance `cores`, those that new ones start with. @returns the resizes. */
  follow(...startCores: readonly number[]): string[] {
    this.#startCores.set(startCores);
    this.cores.follow(this.fleet, this.#startCores, this.#out);
    return this.#resizes();
  }

  resizeAll(...cores: readonly number[]): string[] {
    this.cores.resizeAll(Uint32Array.from(cores), this.fleet, this.#out);
    return this.#resizes();
  }

  raiseAll(...cores: readonly number[]): string[] {
    this.cores.raiseAll(Uint32Array.from(cores), this.fleet, this.#out);
    return this.#resizes();
  }

  /** An instance that is up with so many cores. */
  up(worker: number, task: number, cores: number): void {
    this.load(worker, task, cores);
    this.ready(worker);
  }

  load(worker: number, task: number, cores: number): void {
    this.fleet.load(worker, task);
    this.#startCores[task] = cores;
    this.cores.follow(this.fleet, this.#startCores, this.#out);
    this.naive.set(worker, { inForce: 0, wanted: cores });
  }

  ready(worker: number): void {
    this.fleet.modelReady(worker);
    this.cores.comeUp(worker);
    const one = this.naive.get(worker);
    if (one !== undefined) one.inForce = one.wanted;
  }

  resized(worker: number): boolean {
    const one = this.naive.get(worker);
    if (one !== undefined && one.inForce > 0) one.inForce = one.wanted;
    return this.cores.resized(worker);
  }

  /** What the naive list says of `heldByTask`. */
  held(): number[] {
    return Array.from({ length: TASKS }, (_, task) =>
      [...this.naive].reduce(
        (sum, [worker, { inForce, wanted }]) =>
          this.fleet.task[worker] === task ? sum + Math.max(inForce, wanted) : sum,
        0,
      ),
    );
  }

  #resizes(): string[] {
    const out = this.#out;
    const all: string[] = [];
    for (let command = 0; command < out.count; command++) {
      expect(out.kind(command)).toBe(RESIZE);
      const one = this.naive.get(out.worker(command));
      if (one !== undefined) one.wanted = out.cores(command);
      all.push(`${out.worker(command)}:${out.cores(command)}`);
    }
    out.clear();
    return all;
  }
}

describe("cores of instances", () => {
  test("are held from the start on, the more of what there is and what is to be", () => {
    const bench = new Bench();
    bench.load(0, 0, 2);
    expect([...bench.cores.heldByTask]).toEqual([2, 0]);
    bench.ready(0);
    bench.resizeAll(4, 1);
    expect([...bench.cores.heldByTask]).toEqual([4, 0]);
    expect(bench.cores.least(bench.fleet)[0]).toBe(2);
    bench.resized(0);
    expect(bench.cores.least(bench.fleet)[0]).toBe(4);
    bench.resizeAll(1, 1);
    expect([...bench.cores.heldByTask]).toEqual([4, 0]);
    bench.resized(0);
    expect([...bench.cores.heldByTask]).toEqual([1, 0]);
  });

  test("are in the end those that were said last, also while an instance comes up", () => {
    const bench = new Bench();
    bench.load(0, 0, 1);
    expect(bench.resizeAll(4, 1)).toEqual(["0:4"]);
    expect(bench.resizeAll(3, 1)).toEqual(["0:3"]);
    expect(bench.resized(0)).toBe(false);
    bench.ready(0);
    expect(bench.cores.least(bench.fleet)[0]).toBe(3);
    bench.resizeAll(4, 1);
    bench.resizeAll(2, 1);
    expect(bench.resized(0)).toBe(true);
    expect(bench.cores.least(bench.fleet)[0]).toBe(2);
    expect([...bench.cores.heldByTask]).toEqual([2, 0]);
  });

  test("are said once", () => {
    const bench = new Bench();
    bench.up(0, 0, 1);
    expect(bench.resizeAll(2, 1)).toEqual(["0:2"]);
    expect(bench.resizeAll(2, 1)).toEqual([]);
    expect(bench.follow(2, 1)).toEqual([]);
  });

  test("are raised where there are fewer, and left where there are more", () => {
    const bench = new Bench();
    bench.up(0, 0, 1);
    bench.up(1, 0, 3);
    bench.load(2, 0, 1);
    bench.up(3, 1, 1);
    expect(bench.raiseAll(2, 1)).toEqual(["0:2", "2:2"]);
    expect([...bench.cores.heldByTask]).toEqual([7, 1]);
  });

  test("are not changed for those that leave, which count until they are gone", () => {
    const bench = new Bench();
    bench.up(0, 0, 2);
    bench.up(1, 0, 2);
    bench.fleet.start(1);
    bench.fleet.setLeaving(1, true);
    bench.follow(2, 1);
    expect(bench.resizeAll(3, 1)).toEqual(["0:3"]);
    expect(bench.raiseAll(4, 1)).toEqual(["0:4"]);
    expect([...bench.cores.heldByTask]).toEqual([6, 0]);
    bench.fleet.finish(1);
    expect(bench.cores.leave(1)).toBe(true);
    expect([...bench.cores.heldByTask]).toEqual([4, 0]);
    expect(bench.cores.leave(1)).toBe(false);
  });

  test("of one that was leaving and stays after all are those of a new one", () => {
    const bench = new Bench();
    bench.up(0, 0, 4);
    bench.fleet.start(0);
    bench.fleet.setLeaving(0, true);
    bench.follow(4, 1);
    bench.fleet.setLeaving(0, false);
    expect(bench.follow(2, 1)).toEqual(["0:2"]);
    expect([...bench.cores.heldByTask]).toEqual([4, 0]);
  });

  test("order idle instances: the most cores in force first, then the lowest index", () => {
    const bench = new Bench();
    bench.up(0, 0, 1);
    bench.up(1, 1, 4);
    bench.up(2, 0, 3);
    bench.up(3, 0, 3);
    bench.up(4, 0, 4);
    bench.fleet.start(4);
    bench.cores.least(bench.fleet);
    expect(bench.cores.mostOf(bench.fleet, 0)).toBe(2);
    bench.fleet.start(2);
    expect(bench.cores.mostOf(bench.fleet, 0)).toBe(3);
    bench.fleet.start(3);
    expect(bench.cores.mostOf(bench.fleet, 0)).toBe(0);
  });

  test("of one that stays after all count as well when the first is chosen", () => {
    const bench = new Bench();
    bench.up(0, 0, 1);
    bench.up(1, 0, 4);
    bench.fleet.start(1);
    bench.fleet.setLeaving(1, true);
    bench.follow(1, 1);
    bench.cores.least(bench.fleet);
    bench.fleet.setLeaving(1, false);
    bench.follow(1, 1);
    bench.fleet.finish(1);
    expect(bench.cores.mostOf(bench.fleet, 0)).toBe(1);
  });

  test("are what a naive sum says, whatever happens", () => {
    const step = fc.record({
      kind: fc.constantFrom("load", "ready", "run", "finish", "leave", "stay", "lose", "resized"),
      worker: fc.nat(WORKERS - 1),
      task: fc.nat(TASKS - 1),
      cores: fc.integer({ min: 1, max: 4 }),
    });
    const change = fc.record({
      kind: fc.constantFrom("resizeAll", "raiseAll"),
      worker: fc.constant(0),
      task: fc.constant(0),
      cores: fc.integer({ min: 1, max: 4 }),
    });
    const steps = fc.array(fc.oneof({ weight: 5, arbitrary: step }, change), { maxLength: 120 });
    fc.assert(
      fc.property(steps, (all) => {
        const bench = new Bench();
        for (const one of all) {
          act(bench, one);
          expect([...bench.cores.heldByTask]).toEqual(bench.held());
          for (let task = 0; task < TASKS; task++) checkChoice(bench, task);
        }
      }),
      { numRuns: 300 },
    );
  });
});

interface Step {
  readonly kind: string;
  readonly worker: number;
  readonly task: number;
  readonly cores: number;
}

function act(bench: Bench, { kind, worker, task, cores }: Step): void {
  const { fleet } = bench;
  const state = fleet.state[worker];
  const isLeaving = fleet.isLeaving[worker] === 1;
  if (kind === "load" && state === DOWN) fleet.comeUp(worker);
  else if (kind === "load" && state === OFF) bench.load(worker, task, cores);
  else if (kind === "ready" && state === LOADING) bench.ready(worker);
  else if (kind === "run" && state === IDLE) fleet.start(worker);
  else if (kind === "finish" && state === BUSY) {
    fleet.finish(worker);
    if (isLeaving) {
      bench.cores.leave(worker);
      bench.naive.delete(worker);
    }
  } else if ((kind === "leave" || kind === "stay") && state === BUSY) {
    fleet.setLeaving(worker, kind === "leave");
    bench.follow(cores, cores);
  } else if (kind === "lose" && state !== DOWN) {
    fleet.goDown(worker);
    bench.cores.leave(worker);
    bench.naive.delete(worker);
  } else if (kind === "resized") bench.resized(worker);
  else if (kind === "resizeAll") bench.resizeAll(cores, cores);
  else if (kind === "raiseAll") bench.raiseAll(cores, cores);
}

function checkChoice({ fleet, cores, naive }: Bench, task: number): void {
  const isOf = (worker: number) => fleet.task[worker] === task && fleet.isLeaving[worker] === 0;
  const up = [...naive].filter(([worker, { inForce }]) => isOf(worker) && inForce > 0);
  const least = up.reduce((min, [, { inForce }]) => Math.min(min, inForce), 99);
  expect(cores.least(fleet)[task]).toBe(up.length === 0 ? 0 : least);
  const idle = up.filter(([worker]) => fleet.state[worker] === IDLE).sort(([a], [b]) => a - b);
  if (idle.length === 0) return;
  const [first] = idle.toSorted(([, a], [, b]) => b.inForce - a.inForce);
  expect(cores.mostOf(fleet, task)).toBe(first?.[0]);
}
