/**
 * What is used of the client of NATS, which is installed by whoever has bundles there: its packages
 * are no dependency of the runtime, and these are their parts by their form.
 */
import { RuntimeError } from "../errors.ts";

export interface ObjectInfo {
  readonly name: string;
  readonly size: number;
  /** Another one with every version. */
  readonly nuid: string;
  readonly deleted: boolean;
}

export interface ObjectStore {
  info(name: string): Promise<ObjectInfo | null>;
  /** Checks the digest that the store has. */
  getBlob(name: string): Promise<Uint8Array | null>;
  get(name: string): Promise<{
    readonly info: ObjectInfo;
    readonly data: AsyncIterable<Uint8Array>;
    readonly error: Promise<Error | null>;
  } | null>;
  watch(options: { readonly includeHistory: boolean }): Promise<AsyncIterable<ObjectInfo>>;
}

export interface NatsConnection {
  close(): Promise<void>;
}

interface NatsPackages {
  connect(options: object): Promise<NatsConnection>;
  credsAuthenticator(bytes: Uint8Array): unknown;
  readonly Objm: new (connection: NatsConnection) => { open(bucket: string): Promise<ObjectStore> };
}

const NAMES = ["@nats-io/transport-node", "@nats-io/obj"];

/** @param where of the source, for messages. @throws RuntimeError RUNTIME_SOURCE */
export async function natsPackages(where: string): Promise<NatsPackages> {
  try {
    const parts = await Promise.all(NAMES.map((name) => import(name)));
    return Object.assign({}, ...parts);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const expected = `expected the packages ${NAMES.join(" and ")} beside stratagem-runtime`;
    const help = `npm install ${NAMES.join(" ")}`;
    throw new RuntimeError("RUNTIME_SOURCE", `${where}: ${expected}; ${help}`);
  }
}
