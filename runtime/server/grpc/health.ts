/** Health of the server by grpc.health.v1, with notifications of changes. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import type { ServerState } from "../applications/server-state.ts";
import { HttpError } from "../connections/http-error.ts";
import {
  readMessage,
  refuseStream,
  registerAnswer,
  registerServerStream,
  type WritableCall,
} from "./calls.ts";
import type { GrpcContext } from "./context.ts";
import {
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "./pb/health-pb.ts";

/** Interval of the check for changes while clients watch. */
const LOOK_MS = 100;

const PATH = "/grpc.health.v1.Health";

interface Watcher {
  readonly isKnown: boolean;
  sent: Status | undefined;
}

export class Health {
  readonly #state: ServerState;
  readonly #services: readonly string[];
  readonly #watchers = new Map<WritableCall, Watcher>();
  #timer: NodeJS.Timeout | undefined;

  /** @param services that have a health: that of the server, which is also called "". */
  constructor(state: ServerState, services: readonly string[]) {
    this.#state = state;
    this.#services = ["", ...services];
  }

  register(server: Server, context: GrpcContext): void {
    const check = [HealthCheckRequestSchema, HealthCheckResponseSchema] as const;
    registerAnswer(server, context, `${PATH}/Check`, check, ({ service }) => {
      if (this.#services.includes(service)) return { status: this.#status };
      const known = this.#services.map((name) => JSON.stringify(name)).join(" or ");
      const message = `service: expected ${known}, got ${JSON.stringify(service.slice(0, 100))}`;
      throw new HttpError(404, message);
    });
    const list = [HealthListRequestSchema, HealthListResponseSchema] as const;
    registerAnswer(server, context, `${PATH}/List`, list, () => {
      const status = this.#status;
      return { statuses: Object.fromEntries(this.#services.map((name) => [name, { status }])) };
    });
    registerServerStream(server, context, `${PATH}/Watch`, (call) => this.#watch(call));
  }

  /** Notifies watchers of changes. */
  look(): void {
    for (const [call, watcher] of this.#watchers) this.#notify(call, watcher);
  }

  /** Ends all watches. */
  close(): void {
    this.look();
    clearInterval(this.#timer);
    for (const call of this.#watchers.keys()) {
      refuseStream(call, new HttpError(503, "the server is shutting down"));
    }
  }

  get #status(): Status {
    return this.#state.isFit ? Status.SERVING : Status.NOT_SERVING;
  }

  #watch(call: WritableCall): void {
    let service: string;
    try {
      ({ service } = readMessage(HealthCheckRequestSchema, call.request));
    } catch (error) {
      refuseStream(call, error);
      return;
    }
    const watcher = { isKnown: this.#services.includes(service), sent: undefined };
    this.#watchers.set(call, watcher);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
    call.once("cancelled", () => {
      this.#watchers.delete(call);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    this.#notify(call, watcher);
  }

  #notify(call: WritableCall, watcher: Watcher): void {
    const status = watcher.isKnown ? this.#status : Status.SERVICE_UNKNOWN;
    // A watcher that does not read gets no intermediate states: only the last one counts.
    if (status === watcher.sent || call.writableNeedDrain) return;
    watcher.sent = status;
    const response = create(HealthCheckResponseSchema, { status });
    call.write(toBinary(HealthCheckResponseSchema, response));
  }
}
