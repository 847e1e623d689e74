/** A peer's dispatcher and what happens to its queries, and the cluster that tests give it. */
import { expect } from "vitest";
import type {
  Peer,
  PeerParameters,
  PeerSetting,
  SimulatedDispatcher,
} from "../../compiler/methods/ramsis/simulate/peers/peer.ts";
import {
  type PeerCluster,
  peerCluster,
} from "../../compiler/methods/ramsis/simulate/peers/peer-cluster.ts";
import { CommandBuffer, DROP } from "../../runtime/core/command-buffer.ts";
import { type TinyBundleOptions, tinyBundle } from "./tiny-bundle.ts";

const SLO_MS = 100;

/**
 * By default one worker; small takes 10 + 5b ms at accuracy 0.6, large 20 + 20b ms at 0.8, and
 * batches go to 3. The SLO is 100 ms.
 */
export function tinyCluster(options: TinyBundleOptions = {}, qps = 20): PeerCluster {
  return peerCluster(tinyBundle(options), { initialQps: qps, isSteady: qps > 0 });
}

/** The setting that has some parameters, among those that hindsight tries. */
export function settingWith(peer: Peer, cluster: PeerCluster, wanted: PeerParameters): PeerSetting {
  const setting = peer
    .tunings(cluster)
    .find(({ parameters }) => Object.entries(wanted).every(([key, at]) => parameters[key] === at));
  if (setting === undefined) throw new Error(`no setting with ${JSON.stringify(wanted)}`);
  return setting;
}

/** Tells a dispatcher what happens, and makes sure that it keeps to what a cluster can do. */
export class PeerDriver {
  readonly dispatcher: SimulatedDispatcher;
  readonly waiting = new Set<number>();
  readonly running = new Map<number, { readonly variant: number; readonly queries: number[] }>();
  readonly served: number[] = [];
  readonly dropped: number[] = [];
  nowMs = 0;
  readonly #largestBatch: number;
  readonly #commands: CommandBuffer;

  constructor(cluster: PeerCluster, setting: PeerSetting) {
    this.dispatcher = setting.open();
    this.#largestBatch = cluster.largestBatch;
    const { commandCapacity, waitingCapacity } = this.dispatcher;
    this.#commands = new CommandBuffer(commandCapacity, waitingCapacity);
  }

  /** @returns what is done about it, such as `0: variant 1 on 3,4` or `drops 2`. */
  arrive(query: number, nowMs: number, deadlineMs = nowMs + SLO_MS): string[] {
    this.waiting.add(query);
    return this.#tell(nowMs, (out) => this.dispatcher.onArrival(query, deadlineMs, nowMs, out));
  }

  done(worker: number, nowMs: number): string[] {
    const batch = this.running.get(worker);
    if (batch === undefined) throw new Error(`worker ${worker} runs nothing`);
    this.served.push(...batch.queries);
    this.running.delete(worker);
    return this.#tell(nowMs, (out) => this.dispatcher.onBatchDone(worker, nowMs, out));
  }

  /** At the time that the dispatcher has named. */
  wake(): string[] {
    const { wakeMs } = this.dispatcher;
    return this.#tell(wakeMs, (out) => this.dispatcher.onWake(wakeMs, out));
  }

  #tell(nowMs: number, act: (out: CommandBuffer) => void): string[] {
    this.nowMs = nowMs;
    act(this.#commands);
    const commands = this.#commands;
    const said = Array.from({ length: commands.count }, (_, index) => this.#carryOut(index));
    commands.clear();
    expect(this.dispatcher.wakeMs).toBeGreaterThan(nowMs);
    return said;
  }

  #carryOut(command: number): string {
    const commands = this.#commands;
    const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
      commands.query(command, position),
    );
    for (const query of queries) expect(this.waiting.delete(query)).toBe(true);
    if (commands.kind(command) === DROP) {
      this.dropped.push(...queries);
      return `drops ${queries}`;
    }
    const worker = commands.worker(command);
    const variant = commands.variant(command);
    expect(worker).toBeLessThan(this.dispatcher.workerCount);
    expect(this.running.has(worker)).toBe(false);
    expect(queries.length).toBeGreaterThan(0);
    expect(queries.length).toBeLessThanOrEqual(this.#largestBatch);
    this.running.set(worker, { variant, queries });
    return `${worker}: variant ${variant} on ${queries}`;
  }
}
