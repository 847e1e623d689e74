/** The gRPC server for KEDA: externalscaler.ExternalScaler. */
import {
  Server,
  type ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { RuntimeError } from "../base/errors.ts";
import type { LoadWatch } from "./load-watch.ts";
import {
  readMetricsRequest,
  readScaledObjectRef,
  writeIsActive,
  writeNamedNumbers,
} from "./messages.ts";
import { BadTrigger, type Trigger, Triggers } from "./trigger.ts";

const SERVICE = "/externalscaler.ExternalScaler";
/** Target per replica: the metric is the number of replicas itself. */
const TARGET = 1;
/** Message size limit; the largest message contains a trigger's metadata. */
const MOST_BYTES = 2 ** 18;
/** Limit per connection; KEDA opens one, with a stream or two per ScaledObject. */
const MOST_STREAMS = 4096;

type Bytes = Uint8Array;
type Unary = ServerUnaryCall<Bytes, Bytes>;
type Stream = ServerWritableStream<Bytes, Bytes>;

interface KedaOptions {
  readonly watch: LoadWatch;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly credentials: ServerCredentials;
  /** Reads the replicas of a StatefulSet, to which the autoscaler's tolerance applies. */
  readonly replicasOf: (statefulSet: string) => Promise<number>;
}

export interface KedaServer {
  /** HOST:PORT. */
  readonly url: string;
  /** Finishes running calls, ends the streams and closes. */
  close(): Promise<void>;
}

/** @throws RuntimeError RUNTIME_LISTEN */
export async function openKeda(options: KedaOptions): Promise<KedaServer> {
  const server = new Server({
    "grpc.max_receive_message_length": MOST_BYTES,
    "grpc.max_concurrent_streams": MOST_STREAMS,
    "grpc.enable_channelz": 0,
  });
  const service = new KedaService(options);
  service.register(server);
  const url = await bound(server, options);
  return {
    url,
    close: async () => {
      service.endStreams();
      await new Promise((resolve) => server.tryShutdown(resolve));
    },
  };
}

class KedaService {
  readonly #watch: LoadWatch;
  readonly #triggers: Triggers;
  readonly #replicasOf: KedaOptions["replicasOf"];
  readonly #streams = new Set<Stream>();

  constructor({ watch, replicasOf }: KedaOptions) {
    this.#watch = watch;
    this.#triggers = new Triggers(watch);
    this.#replicasOf = replicasOf;
  }

  register(server: Server): void {
    registerUnary(server, "IsActive", async (bytes) => {
      const trigger = this.#triggerOf(bytes);
      this.#expectKnown();
      return writeIsActive(this.#triggers.isActive(trigger));
    });
    registerUnary(server, "GetMetricSpec", async (bytes) => this.#spec(bytes));
    registerUnary(server, "GetMetrics", async (bytes) => {
      const { ref } = whole(() => readMetricsRequest(bytes));
      const trigger = this.#triggers.read(ref);
      this.#expectKnown();
      const { statefulSet } = trigger;
      const replicas = statefulSet === undefined ? null : await this.#replicasOf(statefulSet);
      const value = this.#triggers.wanted(trigger, replicas);
      return writeNamedNumbers([{ name: trigger.metricName, value }]);
    });
    registerStream(server, "StreamIsActive", (call) => this.#streamActivity(call));
    registerStream(server, "StreamMetricSpec", (call) => {
      const spec = this.#spec(call.request);
      this.#open(call);
      call.write(spec);
    });
  }

  endStreams(): void {
    for (const call of this.#streams) call.end();
  }

  #spec(bytes: Bytes): Bytes {
    const { metricName: name } = this.#triggerOf(bytes);
    return writeNamedNumbers([{ name, value: TARGET }]);
  }

  /** Sends the state once the load is known, and then each change. */
  #streamActivity(call: Stream): void {
    const trigger = this.#triggerOf(call.request);
    let sent: boolean | null = null;
    const send = () => {
      if (this.#watch.outlook.whyUnknown !== null) return;
      const isActive = this.#triggers.isActive(trigger);
      if (isActive === sent) return;
      sent = isActive;
      call.write(writeIsActive(isActive));
    };
    const stop = this.#watch.onLook(send);
    this.#open(call);
    call.once("close", stop);
    call.once("cancelled", stop);
    send();
  }

  #open(call: Stream): void {
    this.#streams.add(call);
    const drop = () => this.#streams.delete(call);
    call.once("close", drop);
    call.once("cancelled", drop);
  }

  #triggerOf(bytes: Bytes): Trigger {
    return this.#triggers.read(whole(() => readScaledObjectRef(bytes)));
  }

  /** Rejects the call, so that KEDA uses the fallback of the ScaledObject. */
  #expectKnown(): void {
    const { whyUnknown } = this.#watch.outlook;
    if (whyUnknown !== null) throw new Unknown(`the load is unknown: ${whyUnknown}`);
  }
}

class Unknown extends Error {}

/** @throws BadTrigger if the bytes are not a valid message. */
function whole<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadTrigger(`expected a message of externalscaler: ${reason}`);
  }
}

const asIs = (bytes: Buffer): Bytes => bytes;
const asBuffer = ({ buffer, byteOffset, length }: Bytes): Buffer =>
  Buffer.from(buffer, byteOffset, length);

function registerUnary(
  server: Server,
  method: string,
  answer: (bytes: Bytes) => Promise<Bytes>,
): void {
  const handle = (call: Unary, respond: sendUnaryData<Bytes>): void => {
    answer(call.request).then(
      (bytes) => respond(null, bytes),
      (error: unknown) => respond(refusalOf(error)),
    );
  };
  server.register(`${SERVICE}/${method}`, handle, asBuffer, asIs, "unary");
}

function registerStream(server: Server, method: string, begin: (call: Stream) => void): void {
  const handle = (call: Stream): void => {
    try {
      begin(call);
    } catch (error) {
      call.emit("error", refusalOf(error));
    }
  };
  server.register(`${SERVICE}/${method}`, handle, asBuffer, asIs, "serverStream");
}

function refusalOf(error: unknown): { readonly code: status; readonly details: string } {
  const details = error instanceof Error ? error.message : String(error);
  if (error instanceof BadTrigger) return { code: status.INVALID_ARGUMENT, details };
  return { code: error instanceof Unknown ? status.UNAVAILABLE : status.INTERNAL, details };
}

function bound(server: Server, { host, port, credentials }: KedaOptions): Promise<string> {
  const address = host.includes(":") ? `[${host}]` : host;
  return new Promise((resolve, reject) => {
    server.bindAsync(`${address}:${port}`, credentials, (error, boundPort) => {
      if (error === null) resolve(`${address}:${boundPort}`);
      else {
        const expected = "expected an address to serve at";
        const message = `${address}:${port}: ${expected}, got: ${error.message}; choose another`;
        reject(new RuntimeError("RUNTIME_LISTEN", `${message} with --grpc`));
      }
    });
  });
}
