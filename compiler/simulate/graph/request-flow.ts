/** Requests of a simulation that are under way. */
import type { Cluster } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { type CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import {
  NO_PARENT,
  type PipelineDispatcher,
} from "stratagem-runtime/internal/core/graph/pipeline-dispatcher";
import { NONE } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import { REQUESTS, SPREAD, type TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { VisitProgress } from "stratagem-runtime/internal/core/graph/visit-progress";
import { type CountedFrom, QueueTimes } from "../queue-times.ts";
import { ServerGate } from "../serving/server-gate.ts";
import { BATCH, REQUEST, type ServerStation } from "../serving/server-station.ts";
import type { Stations } from "../serving/stations.ts";
import { DeliveryRing } from "./delivery-ring.ts";
import { RequestSlots } from "./request-slots.ts";
import type { RequestTally } from "./request-tally.ts";
import { MADE_CAPACITY, madeCountFor, rowCountFor, slotCountFor } from "./row-counts.ts";
import type { RequestTrace } from "./visits.ts";

interface FlowFrame extends CountedFrom {
  readonly graph: TaskGraph;
  readonly trace: RequestTrace;
  readonly cluster: Cluster;
  /** Client's SLO. */
  readonly sloMs: number;
  /** Stations on the way of requests to a decision, and of answers back. */
  readonly stations: Pick<Stations, "server" | "toServerMs" | "toClientMs">;
  readonly hasLatencies: boolean;
}

/** The part of a dispatcher that requests under way use. */
export type QueryDesk = Pick<PipelineDispatcher, "onRequest" | "onQuery" | "onFanout" | "onCancel">;

/**
 * Requests under way: how far each has come, its queries on their way, and when it ends.
 *
 * A query is named by its row and its task, since a row visits a task at most once; the row of a
 * request is its slot. A request that loses a query is dropped: its waiting queries are cancelled,
 * and those on their way or in a batch are ignored when they arrive. Its slot is free again once no
 * query is left.
 */
export class RequestFlow {
  /** Latencies in arrival order; NaN for a request that is not done or was dropped. */
  readonly latencyMsByRequest: Float64Array | null;
  readonly queue: QueueTimes;
  /** Requests that lost a query. */
  lostCount = 0;
  readonly #graph: TaskGraph;
  /** Whether requests are the only rows. */
  readonly #isPlain: boolean;
  readonly #trace: RequestTrace;
  readonly #sloMs: number;
  /** Part of the SLO that decisions may spend. */
  readonly #decisionSloMs: number;
  readonly #server: ServerStation | null;
  /** Null without a server that rejects requests. */
  readonly #gate: ServerGate | null;
  readonly #toServerMs: number;
  readonly #toClientMs: () => number;
  /** Time that a query takes to reach each task. */
  readonly #hopMs: number;
  readonly #dispatcher: QueryDesk;
  readonly #commands: CommandBuffer;
  readonly #tally: RequestTally;
  readonly #progress: VisitProgress;
  readonly #slots: RequestSlots;
  readonly #deliveries = new DeliveryRing();
  /**
   * [slotCount]: queries that were sent and have not ended; and whether one of them was dropped.
   */
  readonly #pending: Uint32Array;
  readonly #isLost: Uint8Array;
  /** [slotCount]: deadline of the request that dispatchers receive. */
  readonly #deadlineMs: Float64Array;
  /** Per row: its number among the rows of its scope in the trace. */
  readonly #traceRow: Uint32Array;
  readonly #hasRoomForAll: boolean;
  #nextRequest = 0;

  /**
   * @param commands buffer that the dispatcher appends to; empty whenever an event is handed in.
   */
  constructor(
    { graph, trace, cluster, sloMs, stations, hasLatencies, ...queue }: FlowFrame,
    dispatcher: QueryDesk,
    commands: CommandBuffer,
    tally: RequestTally,
  ) {
    const slotCount = slotCountFor(trace);
    this.#graph = graph;
    this.#isPlain = graph.scopes.length === 1;
    this.#trace = trace;
    this.#sloMs = sloMs;
    this.#decisionSloMs = decisionSloMs(cluster, sloMs);
    this.#server = stations.server;
    this.#gate = stations.server && new ServerGate(cluster, sloMs, slotCount);
    this.#toServerMs = stations.toServerMs;
    this.#toClientMs = stations.toClientMs;
    this.#hopMs = cluster.communicationLatencyMs;
    this.#dispatcher = dispatcher;
    this.#commands = commands;
    this.#tally = tally;
    this.#progress = new VisitProgress(graph, slotCount, madeCountFor(trace));
    this.#hasRoomForAll = madeCountFor(trace) < MADE_CAPACITY;
    this.#traceRow = new Uint32Array(rowCountFor(trace));
    this.#slots = new RequestSlots(slotCount, graph);
    this.queue = new QueueTimes(slotCount, queue);
    this.#pending = new Uint32Array(slotCount);
    this.#isLost = new Uint8Array(slotCount);
    this.#deadlineMs = new Float64Array(slotCount);
    const { length } = trace.arrivalMs;
    this.latencyMsByRequest = hasLatencies ? new Float64Array(length).fill(Number.NaN) : null;
  }

  /**
   * Time of the next arrival or of the next end of server work; Infinity if none is left. Reading
   * it may start server work, so read it before the workers' events.
   */
  get nextMs(): number {
    const comesMs = Math.min(this.#nextArrivalMs, this.#deliveries.nextMs);
    return this.#server === null ? comesMs : Math.min(comesMs, this.#server.nextMs);
  }

  /** Whether all requests have arrived and ended. */
  get isOver(): boolean {
    if (this.#slots.openCount > 0 || this.#nextArrivalMs < Number.POSITIVE_INFINITY) return false;
    return this.#server === null || this.#server.nextMs === Number.POSITIVE_INFINITY;
  }

  /**
   * Hands in the events of now: requests, unless a server must process them first, then queries.
   */
  step(nowMs: number): void {
    const server = this.#server;
    while (this.#nextArrivalMs === nowMs) {
      const request = this.#nextRequest++;
      if (server === null) this.#arrive(request, nowMs);
      else server.push(nowMs, REQUEST, request);
    }
    const deliveries = this.#deliveries;
    while (deliveries.nextMs === nowMs) this.#handIn(deliveries.pop(), nowMs);
  }

  /**
   * Handles a batch that a worker has computed.
   * @returns whether the batch is finished: if not, the server must take it back first.
   */
  takesBack(worker: number, nowMs: number): boolean {
    this.#server?.push(nowMs, BATCH, worker);
    return this.#server === null;
  }

  /**
   * Hands in the requests that the server has finished, up to the next batch.
   * @returns the worker of that batch, after which there may be more; NONE without one.
   */
  nextBatch(nowMs: number): number {
    const server = this.#server;
    if (server === null) return NONE;
    while (server.nextMs === nowMs) {
      const isBatch = server.nextKind === BATCH;
      const id = server.pop();
      if (isBatch) return id;
      this.#arrive(id, nowMs);
    }
    return NONE;
  }

  /** A query is in a batch that begins. */
  start(query: number, nowMs: number): void {
    const row = Math.floor(query / this.#graph.taskCount);
    this.queue.start(this.#progress.requestOf(row), nowMs);
  }

  /**
   * Serves a query: sends its request on to the next tasks.
   * @param accuracy of the variant that served it.
   */
  serve(query: number, accuracy: number, nowMs: number): void {
    const { taskCount, outStart, outEdge, childByEdge, kindByEdge } = this.#graph;
    const progress = this.#progress;
    const row = Math.floor(query / taskCount);
    const slot = progress.requestOf(row);
    if (this.#isLost[slot] === 1) {
      this.#forget(slot);
      return;
    }
    const task = query % taskCount;
    if (!this.#isPlain && !this.#hasRoom(row, task)) {
      this.drop(query, nowMs);
      return;
    }
    this.#end(slot);
    progress.serve(row, task);
    let isEnd = true;
    const end = outStart[task + 2] ?? 0;
    for (let out = outStart[task + 1] ?? 0; out < end; out++) {
      const edge = outEdge[out] ?? 0;
      const sent = this.#sentBy(edge, row);
      if (sent > 0) isEnd = false;
      this.#dispatcher.onFanout(query, childByEdge[edge] ?? 0, sent);
      if (!this.#isPlain && kindByEdge[edge] === SPREAD) progress.spread(row, edge, sent);
      else progress.settle(row, edge, sent > 0);
    }
    this.#slots.serve(slot, task, accuracy, isEnd);
    this.#sendReady(slot, nowMs);
    if (progress.isDone(slot)) this.#close(slot, nowMs);
  }

  /** Drops a query and its request, which is answered accordingly. */
  drop(query: number, nowMs: number): void {
    const { taskCount } = this.#graph;
    const progress = this.#progress;
    const slot = progress.requestOf(Math.floor(query / taskCount));
    if (this.#isLost[slot] === 0) {
      this.#isLost[slot] = 1;
      this.lostCount++;
      this.#tally.countDropped(this.#arrivalMs(slot));
      this.#gate?.leave(slot, false, nowMs);
      this.#server?.answer(nowMs);
      for (let row = slot; row !== NONE; row = progress.nextRow(row)) {
        const first = row * taskCount;
        for (let other = first; other < first + taskCount; other++) {
          if (this.#dispatcher.onCancel(other)) this.#end(slot);
        }
      }
    }
    this.#forget(slot);
  }

  /** Time when the next request reaches the server. */
  get #nextArrivalMs(): number {
    const sentMs = this.#trace.arrivalMs[this.#nextRequest] ?? Number.POSITIVE_INFINITY;
    return sentMs + this.#toServerMs;
  }

  #arrivalMs(slot: number): number {
    return this.#trace.arrivalMs[this.#slots.request[slot] ?? 0] ?? Number.NaN;
  }

  #arrive(request: number, nowMs: number): void {
    const { outStart, outEdge } = this.#graph;
    const sentMs = this.#trace.arrivalMs[request] ?? Number.NaN;
    this.#tally.countRequest(sentMs);
    this.#dispatcher.onRequest(nowMs);
    if (this.#slots.isFull || this.#gate?.isShut === true) {
      this.#tally.countDropped(sentMs);
      this.#server?.answer(nowMs);
      return;
    }
    const slot = this.#slots.open(request);
    this.#gate?.enter(slot, true, nowMs);
    this.#deadlineMs[slot] = nowMs + this.#decisionSloMs;
    // Servers count the hop to a worker as part of the batch.
    this.queue.enter(slot, nowMs + this.#hopMs);
    this.#progress.open(slot);
    this.#traceRow[slot] = request;
    const end = outStart[REQUESTS + 2] ?? 0;
    for (let out = outStart[REQUESTS + 1] ?? 0; out < end; out++) {
      const edge = outEdge[out] ?? 0;
      this.#progress.settle(slot, edge, this.#sentBy(edge, slot) > 0);
    }
    this.#sendReady(slot, nowMs);
    if (this.#progress.isDone(slot)) this.#close(slot, nowMs);
  }

  /** Number of queries that a row sends along an edge. */
  #sentBy(edge: number, row: number): number {
    const traceRow = this.#traceRow[row] ?? 0;
    if (!this.#isPlain && this.#graph.kindByEdge[edge] === SPREAD) {
      const { childByEdge, scopeByTask } = this.#graph;
      const first = this.#firstOf(scopeByTask[childByEdge[edge] ?? 0] ?? 0);
      return (first[traceRow + 1] ?? 0) - (first[traceRow] ?? 0);
    }
    const taken = this.#trace.takenByEdge[edge];
    return taken == null ? 1 : (taken[traceRow] ?? 0);
  }

  #firstOf(scope: number): Uint32Array {
    const rows = this.#trace.rowsByScope?.[scope];
    assert(rows !== undefined, "a trace has the rows of every scope");
    return rows.first;
  }

  /** Returns whether the rows that a served query makes fit into memory. */
  #hasRoom(row: number, task: number): boolean {
    const { outStart, outEdge, kindByEdge } = this.#graph;
    let most = 0;
    for (let out = outStart[task + 1] ?? 0; out < (outStart[task + 2] ?? 0); out++) {
      const edge = outEdge[out] ?? 0;
      if (kindByEdge[edge] === SPREAD) most += this.#sentBy(edge, row);
    }
    const { freeRows } = this.#progress;
    // If not all rows of the trace fit at once, windows need rows as well: at most as many as rows
    // under way.
    const windows = this.#hasRoomForAll ? 0 : MADE_CAPACITY - freeRows + most;
    return most + windows <= freeRows;
  }

  /** Sends queries to the tasks that a request has reached; without a hop they arrive at once. */
  #sendReady(slot: number, nowMs: number): void {
    const progress = this.#progress;
    const { readyCount } = progress;
    this.#pending[slot] = (this.#pending[slot] ?? 0) + readyCount;
    for (let index = 0; index < readyCount; index++) {
      const row = progress.readyRow[index] ?? 0;
      const task = progress.readyTask[index] ?? 0;
      if (row !== slot) this.#findInTrace(row, task);
      const query = row * this.#graph.taskCount + task;
      if (this.#hopMs > 0) this.#deliveries.push(nowMs + this.#hopMs, query);
      else this.#handIn(query, nowMs);
    }
    progress.clearReady();
  }

  /** Finds a made row in the trace, at the first task that it visits. */
  #findInTrace(row: number, task: number): void {
    const scope = this.#graph.scopeByTask[task] ?? 0;
    if (this.#graph.scopes[scope]?.entry !== task) return;
    const madeOf = this.#traceRow[this.#progress.parentOf(row)] ?? 0;
    this.#traceRow[row] = (this.#firstOf(scope)[madeOf] ?? 0) + this.#progress.ordinalOf(row);
  }

  #handIn(query: number, nowMs: number): void {
    const { taskCount } = this.#graph;
    const slot = this.#progress.requestOf(Math.floor(query / taskCount));
    if (this.#isLost[slot] === 1) {
      this.#forget(slot);
      return;
    }
    const commands = this.#commands;
    const deadlineMs = this.#deadlineMs[slot] ?? Number.NaN;
    this.#dispatcher.onQuery(query, query % taskCount, NO_PARENT, deadlineMs, nowMs, commands);
    if (commands.count === 0) return;
    assert(commands.kind(0) === DROP, "no batch starts before all queries are in");
    commands.clear();
    this.drop(query, nowMs);
  }

  /** Counts one query less under way. */
  #end(slot: number): void {
    this.#pending[slot] = (this.#pending[slot] ?? 0) - 1;
  }

  /** Ends a query of a dropped request. */
  #forget(slot: number): void {
    this.#end(slot);
    if ((this.#pending[slot] ?? 0) > 0) return;
    this.#isLost[slot] = 0;
    this.#progress.close(slot);
    this.#slots.close(slot);
  }

  #close(slot: number, nowMs: number): void {
    const request = this.#slots.request[slot] ?? 0;
    const arrivalMs = this.#trace.arrivalMs[request] ?? Number.NaN;
    this.#gate?.leave(slot, true, nowMs);
    const endMs = this.#server === null ? nowMs : this.#server.answer(nowMs) + this.#toClientMs();
    const latencyMs = endMs - arrivalMs;
    // End − arrival > SLO would round differently.
    const isLate = endMs > arrivalMs + this.#sloMs;
    this.#tally.countServed(arrivalMs, latencyMs, isLate, this.#slots.accuracy(slot));
    this.queue.countServed(slot);
    if (this.latencyMsByRequest !== null) this.latencyMsByRequest[request] = latencyMs;
    this.#progress.close(slot);
    this.#slots.close(slot);
  }
}
