/** Table of the dispatcher's queries. */
import { NONE } from "../../../core/graph/pipeline-shape.ts";

/** Attributes of each query, by the driver's name for it. */
export class QueryTable {
  /** Deadline of the query's request. */
  readonly deadlineMs: Float64Array;
  /** Order in a queue: the deadline, or that of the stage. */
  readonly orderMs: Float64Array;
  readonly task: Uint16Array;
  /** When the query arrived at its task. */
  readonly arrivalMs: Float64Array;
  /** State in the routing rows. */
  readonly state: Int32Array;
  /** Number of the plan that the state is of. */
  readonly generation: Uint32Array;
  /** Variant that serves or served it. */
  readonly variant: Int32Array;
  /** Time that the plan gives it at its task, waiting included. */
  readonly budgetMs: Float64Array;

  constructor(capacity: number) {
    this.deadlineMs = new Float64Array(capacity);
    this.orderMs = new Float64Array(capacity);
    this.task = new Uint16Array(capacity);
    this.arrivalMs = new Float64Array(capacity);
    this.state = new Int32Array(capacity).fill(NONE);
    this.generation = new Uint32Array(capacity);
    this.variant = new Int32Array(capacity).fill(NONE);
    this.budgetMs = new Float64Array(capacity);
  }
}
