/**
 * Types of the parts of NATS's client that are used. The packages are not dependencies of the
 * runtime: operators of a cluster install them.
 */
import { RuntimeError } from "../../base/errors.ts";

interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  string(): string;
}

interface NatsSubscription {
  unsubscribe(): void;
}

/** Connection without automatic reconnection. */
export interface NatsLink {
  publish(subject: string, payload: string): void;
  subscribe(
    subject: string,
    options: { callback(error: Error | null, message: NatsMessage): void },
  ): NatsSubscription;
  /** Events of the connection. */
  status(): AsyncIterable<{ readonly type: string }>;
  getServer(): string;
  isClosed(): boolean;
  closed(): Promise<unknown>;
  close(): Promise<void>;
}

interface KeyValueEntry {
  readonly revision: number;
  readonly operation: "PUT" | "DEL" | "PURGE";
  string(): string;
}

export interface KeyValue {
  get(key: string): Promise<KeyValueEntry | null>;
  create(key: string, value: string): Promise<number>;
  update(key: string, value: string, revision: number): Promise<number>;
  delete(key: string, options?: { readonly previousSeq: number }): Promise<void>;
}

export interface StreamMessage {
  readonly subject: string;
  readonly seq: number;
  readonly headers?: { get(name: string): string } | undefined;
  readonly info: { readonly pending: number; readonly deliverySequence: number };
  string(): string;
}

interface StreamMessages {
  /** Events of the consumer. */
  status(): AsyncIterable<{ readonly type: string }>;
  closed(): Promise<unknown>;
  stop(): void;
}

export interface StreamManager {
  readonly streams: { info(stream: string): Promise<{ readonly created: string }> };
  readonly consumers: {
    add(stream: string, config: object): Promise<{ readonly num_pending: number; name: string }>;
    delete(stream: string, name: string): Promise<boolean>;
  };
}

interface Streams {
  jetstreamManager(check: boolean): Promise<StreamManager>;
  readonly consumers: {
    getBoundPushConsumer(config: object): Promise<{
      consume(options: { callback(message: StreamMessage): void }): Promise<StreamMessages>;
    }>;
  };
}

export interface FoundObject {
  readonly name: string;
  readonly size: number;
  /** Digest such as `SHA-256=` and the bytes in base64url. */
  readonly digest: string;
  readonly deleted: boolean;
}

export interface ObjectBucket {
  list(): Promise<readonly FoundObject[]>;
  get(name: string): Promise<{
    readonly data: AsyncIterable<Uint8Array>;
    /** Null or undefined if the content is complete. */
    readonly error: Promise<Error | null | undefined>;
  } | null>;
}

export interface ClusterPackages {
  connect(options: object): Promise<NatsLink>;
  credsAuthenticator(bytes: Uint8Array): unknown;
  createInbox(): string;
  jetstream(link: NatsLink, options: { readonly timeout: number }): Streams;
  readonly Kvm: new (
    streams: Streams,
  ) => { create(bucket: string, options: object): Promise<KeyValue> };
  readonly Objm: new (
    link: NatsLink,
  ) => {
    list(): AsyncIterable<{ readonly bucket: string }>;
    open(bucket: string): Promise<ObjectBucket>;
  };
}

const NAMES = ["transport-node", "jetstream", "kv", "obj"].map((name) => `@nats-io/${name}`);

/**
 * @param where option that needs the packages, for messages. @throws RuntimeError RUNTIME_CLUSTER
 */
export async function clusterPackages(where: string): Promise<ClusterPackages> {
  try {
    const parts = await Promise.all(NAMES.map((name) => import(name)));
    return Object.assign({}, ...parts);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const expected = `expected the packages ${NAMES.join(", ")} next to stratagem-runtime`;
    throw new RuntimeError(
      "RUNTIME_CLUSTER",
      `${where}: ${expected}; npm install ${NAMES.join(" ")}`,
    );
  }
}
