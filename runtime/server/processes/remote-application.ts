/** An application that another process decides for, with its models and no workers. */
import type { Application } from "../applications/application.ts";
import { Gate } from "../applications/gate.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../applications/limits.ts";
import { Occupancy } from "../applications/occupancy.ts";
import type { MetricLine } from "../metrics/exposition.ts";
import type { Endpoint, EndpointModel } from "../requests/endpoint.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { RemoteModel } from "./remote-model.ts";
import type { ToldApplication } from "./told.ts";

export class RemoteApplication implements Application {
  readonly id: number;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly gate: Gate;
  readonly sloMs: number;
  readonly limits: ServerLimits;
  /** They are counted where they are. */
  readonly workerLines = () => [];
  readonly #occupancy = new Occupancy();
  readonly #dispatcher: Dispatcher;

  /** @param nowMs the clock of this process. */
  constructor(told: ToldApplication, dispatcher: Dispatcher, nowMs: () => number) {
    this.id = told.id;
    this.name = told.name;
    this.sloMs = told.sloMs;
    this.limits = { ...DEFAULT_LIMITS, ...told.limits };
    this.gate = new RemoteGate(dispatcher);
    this.endpoint = new RemoteEndpoint(
      told.models.map((model) => new RemoteModel(model, dispatcher, nowMs)),
      dispatcher,
    );
    this.#dispatcher = dispatcher;
  }

  /** It has none. */
  async openWorkers(): Promise<void> {}

  enter(): void {
    this.#occupancy.enter();
  }

  leave(): void {
    this.#occupancy.leave();
  }

  emptied(): Promise<void> {
    return this.#occupancy.emptied();
  }

  drain(): void {
    this.endpoint.drain();
  }

  /** What it had is answered, so that the other process need not keep its workers for it. */
  async close(): Promise<void> {
    this.#dispatcher.tell({ what: "let go", application: this.id });
  }
}

/** Knows whether there is room for any request; all else is decided where it is scheduled. */
class RemoteGate extends Gate {
  readonly #dispatcher: Dispatcher;

  constructor(dispatcher: Dispatcher) {
    super(Number.MAX_SAFE_INTEGER, 1, 1);
    this.#dispatcher = dispatcher;
  }

  override isShut(model: EndpointModel): boolean {
    return model instanceof RemoteModel && this.#dispatcher.isShut(model.id);
  }
}

class RemoteEndpoint implements Endpoint {
  readonly models: readonly EndpointModel[];
  readonly bundle = undefined;
  /** Whether the workers are is told by the process that has them. */
  readonly isReady = true;
  readonly started = Promise.resolve();
  readonly #dispatcher: Dispatcher;

  constructor(models: readonly EndpointModel[], dispatcher: Dispatcher) {
    this.models = models;
    this.#dispatcher = dispatcher;
  }

  /** The process that decides tells all of it. */
  metricLines(): MetricLine[] {
    return [];
  }

  replaceBundle(): string {
    return "another process decides";
  }

  /** That process is told by its own means. */
  drain(): void {}

  abort(): void {
    this.#dispatcher.abort();
  }
}
