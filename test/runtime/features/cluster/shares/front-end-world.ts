/**
 * Front ends, a store and workers on a virtual clock, between which anything that is said takes its
 * time or is lost: what the leases have to bear.
 */

import type { Rng } from "../../../../../runtime/core/rng.ts";
import {
  LeaseBook,
  type LeaseWrite,
} from "../../../../../runtime/features/cluster/shares/lease-book.ts";

export interface WorldOptions {
  readonly rng: Rng;
  readonly workers: readonly string[];
  /** Of messages that are lost, 0..1. */
  lossShare: number;
  mostDelayMs: number;
  /** Clocks run so much faster or slower than time, at most, and are off by up to an hour. */
  readonly clockRate: number;
}

type Entry = { readonly value: unknown; readonly revision: number };

const TICK_MS = 250;
const HOUR_MS = 3_600_000;

export class World {
  nowMs = 0;
  /** By worker and epoch who has ever believed to hold it. */
  readonly holders = new Map<string, string>();
  /** By worker the highest epoch that was used, which it refuses to go below. */
  readonly fences = new Map<string, number>();
  /** Uses of a worker by one that was not its last holder, which were refused. */
  refused = 0;
  isAway = false;
  readonly ends: FrontEnd[] = [];
  readonly rng: Rng;
  readonly options: WorldOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #events: { readonly atMs: number; readonly order: number; readonly act: () => void }[] =
    [];
  #revision = 0;
  #order = 0;
  #started = 0;

  constructor(options: WorldOptions) {
    this.options = options;
    this.rng = options.rng;
  }

  start(): FrontEnd {
    const end = new FrontEnd(this, `end-${this.#started++}`);
    this.ends.push(end);
    return end;
  }

  get alive(): FrontEnd[] {
    return this.ends.filter(({ isDead }) => !isDead);
  }

  later(afterMs: number, act: () => void): void {
    this.#events.push({ atMs: this.nowMs + afterMs, order: this.#order++, act });
  }

  run(untilMs: number): void {
    for (;;) {
      let next = -1;
      for (const [index, event] of this.#events.entries()) {
        const best = this.#events[next];
        if (best === undefined || event.atMs < best.atMs) next = index;
        else if (event.atMs === best.atMs && event.order < best.order) next = index;
      }
      const event = this.#events[next];
      if (event === undefined || event.atMs > untilMs) break;
      this.#events.splice(next, 1);
      this.nowMs = event.atMs;
      event.act();
    }
    this.nowMs = untilMs;
  }

  delayMs(): number {
    return this.rng.nextFloat() * this.options.mostDelayMs;
  }

  isLost(): boolean {
    return this.rng.nextFloat() < this.options.lossShare;
  }

  /** @param value undefined deletes. @returns null where the revision is not the last. */
  write(key: string, value: unknown, revision: number | null): number | null {
    const entry = this.#entries.get(key);
    const last = entry?.value === undefined ? null : entry.revision;
    if (last !== revision) return null;
    this.#revision++;
    this.#entries.set(key, { value, revision: this.#revision });
    for (const end of this.ends) end.hear(key);
    return this.#revision;
  }

  entry(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  /** A front end gives a worker a batch: it is refused once a later epoch was seen. */
  use(end: string, worker: string, epoch: number): void {
    const key = `${worker}/${epoch}`;
    const known = this.holders.get(key);
    if (known !== undefined && known !== end) {
      throw new Error(`${key} is held by ${known} and by ${end}`);
    }
    this.holders.set(key, end);
    const fence = this.fences.get(worker) ?? 0;
    if (epoch < fence) this.refused++;
    else this.fences.set(worker, epoch);
  }
}

export class FrontEnd {
  readonly name: string;
  isDead = false;
  /** Stopped: nothing reaches it and it does nothing until it goes on. */
  isStopped = false;
  readonly book: LeaseBook;
  readonly #world: World;
  readonly #offsetMs: number;
  readonly #rate: number;
  readonly #inbox: (() => void)[] = [];
  readonly #heard = new Map<string, number>();

  constructor(world: World, name: string) {
    this.name = name;
    this.#world = world;
    const { rng, options } = world;
    this.#offsetMs = rng.nextFloat() * HOUR_MS;
    this.#rate = 1 + (2 * rng.nextFloat() - 1) * options.clockRate;
    this.book = new LeaseBook({ frontEnd: name, beatMs: 500, leaseMs: 2000 });
    this.book.onWorkers(options.workers.map((worker) => ({ name: worker, pool: "cpu" })));
    for (const key of world.keys()) this.hear(key);
    world.later(rng.nextFloat() * TICK_MS, () => this.#tick());
  }

  get clockMs(): number {
    return this.#offsetMs + this.#rate * this.#world.nowMs;
  }

  goOn(): void {
    this.isStopped = false;
    for (const act of this.#inbox.splice(0)) act();
  }

  /** The store has news of a key; those of one key do not overtake each other. */
  hear(key: string): void {
    const world = this.#world;
    if (world.isAway) return;
    const entry = world.entry(key);
    if (entry === undefined) return;
    world.later(world.delayMs(), () => this.#do(() => this.#tell(key, entry)));
  }

  #do(act: () => void): void {
    if (this.isDead) return;
    if (this.isStopped) this.#inbox.push(act);
    else act();
  }

  #tell(key: string, { value, revision }: Entry): void {
    if ((this.#heard.get(key) ?? 0) > revision) return;
    this.#heard.set(key, revision);
    const [kind, name = ""] = key.split(":");
    if (kind === "end") {
      const load = value === undefined ? null : { qps: 100, variance: 200 };
      this.book.onBeat(name, load, revision, this.clockMs);
    } else if (isLease(value)) this.book.onLease(name, value, revision);
  }

  #tick(): void {
    if (this.isDead) return;
    this.#world.later(TICK_MS / this.#rate, () => this.#tick());
    if (this.isStopped) return;
    for (const write of this.book.tick(this.clockMs, () => true)) this.#carryOut(write);
    for (const [worker, { epoch, isLeaving }] of this.book.held()) {
      if (!isLeaving) this.#world.use(this.name, worker, epoch);
    }
  }

  /** What is asked may be lost, and what is answered; then nothing is known of it. */
  #carryOut(write: LeaseWrite): void {
    const world = this.#world;
    const [key, value] = keyAndValue(write, this.name);
    const answer = (revision: number | null) => {
      this.#do(() => {
        if (write.kind === "beat") this.book.onBeatDone(revision, this.clockMs);
        else if (write.kind === "lease") this.book.onLeaseDone(write.worker, revision);
        if (revision === null) this.hear(key);
      });
    };
    world.later(world.delayMs(), () => {
      const isLost = world.isAway || world.isLost();
      const revision = isLost ? null : world.write(key, value, write.revision);
      const isHeard = !isLost && !world.isLost();
      world.later(world.delayMs(), () => answer(isHeard ? revision : null));
    });
  }
}

function keyAndValue(write: LeaseWrite, own: string): [key: string, value: unknown] {
  if (write.kind === "beat") return [`end:${own}`, {}];
  if (write.kind === "forget") return [`end:${write.frontEnd}`, undefined];
  return [`worker:${write.worker}`, write.lease];
}

function isLease(value: unknown): value is { holder: string | null; epoch: number } {
  return typeof value === "object" && value !== null && "epoch" in value;
}
