/** A NATS of a test, and those who are connected to it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterUrlOf } from "../../runtime/features/cluster/cluster-url.ts";
import { ClusterConnection } from "../../runtime/features/cluster/connection.ts";
import {
  ClusterMembership,
  type Every,
  timerEvery,
} from "../../runtime/features/cluster/membership.ts";
import { NatsStore } from "../../runtime/features/cluster/nats-store.ts";
import { CutLine } from "./cut-line.ts";
import { NatsServer } from "./nats-server.ts";
import { NatsTrio } from "./nats-trio.ts";

export class ClusterSite {
  readonly #folder = mkdtempSync(join(tmpdir(), "stratagem-cluster-"));
  readonly #ends: (() => unknown)[] = [];

  folder(name: string): string {
    return mkdtempSync(join(this.#folder, `${name}-`));
  }

  async nats(): Promise<NatsServer> {
    const server = await NatsServer.start(this.folder("nats"));
    this.#ends.push(() => server.kill());
    return server;
  }

  /** Three that are one cluster. */
  async trio(): Promise<NatsTrio> {
    const trio = await NatsTrio.start((name) => this.folder(name));
    this.#ends.push(() => trio.kill());
    return trio;
  }

  async line(port: number): Promise<CutLine> {
    const line = await CutLine.to(port);
    this.#ends.push(() => line.close());
    return line;
  }

  async connected(port: number): Promise<ClusterConnection> {
    const connection = await ClusterConnection.open({
      url: clusterUrlOf(clusterAt(port)),
      clientName: "test",
      onNotice: () => {},
    });
    this.#ends.push(() => connection.close());
    return connection;
  }

  /** @param onLook is called with every look for who is silent. */
  async membership(
    port: number,
    onLook = () => {},
  ): Promise<[ClusterMembership, ClusterConnection]> {
    const connection = await this.connected(port);
    const every: Every = (ms, work) =>
      timerEvery(ms, () => {
        work();
        onLook();
      });
    const members = new ClusterMembership({
      ...{ connection, store: new NatsStore(connection), onNotice: () => {}, every },
      nowMs: () => performance.now(),
    });
    this.#ends.push(() => members.close());
    return [members, connection];
  }

  /** What `end` ends, the last first. */
  endsWith(end: () => unknown): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

export function clusterAt(port: number): string {
  return `nats://127.0.0.1:${port}/tried`;
}

/** Once there is a link, or none. */
export async function untilAway(connection: ClusterConnection, isAway: boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    if (connection.isAway === isAway) return resolve();
    const end = connection.onLink((link) => {
      if ((link === null) !== isAway) return;
      queueMicrotask(() => end());
      resolve();
    });
  });
}

/** Once the names of the members, in a row, are so. */
export async function until(
  members: ClusterMembership,
  isSo: (names: string) => boolean,
): Promise<void> {
  const names = () => members.members.map(({ name }) => name).join(" ");
  await new Promise<void>((resolve) => {
    if (isSo(names())) return resolve();
    const end = members.onChange(() => {
      if (!isSo(names())) return;
      end();
      resolve();
    });
  });
}

/** Puts objects into an object store, which is made if it is not there. */
export async function fill(
  { link, packages }: ClusterConnection,
  bucket: string,
  objects: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  if (link === null) throw new Error("expected a link");
  const manager: unknown = new packages.Objm(link);
  const store = await (manager as Filled).create(bucket);
  for (const [name, bytes] of Object.entries(objects)) await store.putBlob({ name }, bytes);
}

/** What is used to fill an object store. */
interface Filled {
  create(bucket: string): Promise<{
    putBlob(meta: { readonly name: string }, bytes: Uint8Array): Promise<unknown>;
  }>;
}
