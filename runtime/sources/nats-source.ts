/** Bundles of an object store of NATS: an object, with those it names beside it. */
import { open } from "node:fs/promises";
import { RuntimeError } from "../errors.ts";
import { MAX_BUNDLE_BYTES } from "../load-bundle.ts";
import type { ShippedPart } from "../shipping/parts.ts";
import { MAX_SIDECAR_BYTES, SIDECARS, sidecarOf } from "../shipping/sidecars.ts";
import { type NatsConnection, natsPackages, type ObjectInfo, type ObjectStore } from "./nats.ts";
import { natsCredentials } from "./nats-credentials.ts";
import { type Found, MAX_PART_BYTES, type PolicySource } from "./policy-source.ts";
import { AwayError } from "./source-error.ts";

export interface NatsSourceOptions {
  /** Path of a file of credentials: what nsc writes, a token, or USER:PASSWORD. */
  readonly tokenFile?: string | undefined;
  readonly signal: AbortSignal;
}

interface Place {
  readonly servers: string;
  readonly bucket: string;
  /** Of the bundle's object. */
  readonly object: string;
}

interface Opened {
  readonly connection: NatsConnection;
  readonly objects: ObjectStore;
}

const CONNECT_MS = 10_000;

export class NatsSource implements PolicySource {
  readonly name: string;
  readonly #place: Place;
  readonly #options: NatsSourceOptions;
  #opening: Promise<Opened> | null = null;

  /** @throws RuntimeError RUNTIME_USAGE for a URL without a bucket and an object. */
  constructor(text: string, options: NatsSourceOptions) {
    this.name = text;
    this.#place = placeOf(text);
    this.#options = options;
  }

  async look(validator: string | null, signal: AbortSignal): Promise<Found | null> {
    return this.#asking(signal, async (objects) => {
      const { object } = this.#place;
      const info = await infoOf(objects, object);
      if (info === null) throw new AwayError(`${this.name}: expected an object, got none`);
      const [envelope = null, provenance = null] = await Promise.all(
        SIDECARS.map((sidecar) => infoOf(objects, sidecarOf(object, sidecar))),
      );
      const now = JSON.stringify([info, envelope, provenance].map((one) => one?.nuid ?? null));
      if (now === validator) return null;
      const bytesOf = (one: ObjectInfo | null) =>
        one === null ? null : this.#bytesOf(objects, one, MAX_SIDECAR_BYTES);
      return {
        validator: now,
        bundle: await this.#bytesOf(objects, info, MAX_BUNDLE_BYTES),
        envelope: await bytesOf(envelope),
        provenance: await bytesOf(provenance),
        fetch: (part, path, until) => this.#fetch(part, path, until),
      };
    });
  }

  watch(onChange: () => void, signal: AbortSignal): void {
    const { object } = this.#place;
    const names = [object, ...SIDECARS.map((sidecar) => sidecarOf(object, sidecar))];
    void this.#asking(signal, async (objects) => {
      for await (const { name } of await objects.watch({ includeHistory: false })) {
        if (names.includes(name)) onChange();
      }
    }).catch(() => {
      // It is asked in its time as well.
    });
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => null);
    await opened?.connection.close();
  }

  async #fetch({ file }: ShippedPart, path: string, signal: AbortSignal): Promise<number> {
    return this.#asking(signal, async (objects) => {
      const name = besideOf(this.#place.object, file);
      const found = await objects.get(name);
      if (found === null) throw new AwayError(`${this.name}: expected an object ${name}, got none`);
      this.#expectAtMost(found.info, MAX_PART_BYTES);
      const output = await open(path, "w");
      try {
        let byteCount = 0;
        for await (const chunk of found.data) {
          signal.throwIfAborted();
          byteCount += chunk.length;
          await output.appendFile(chunk);
        }
        await output.sync();
        return byteCount;
      } finally {
        await output.close();
      }
    });
  }

  async #bytesOf(objects: ObjectStore, info: ObjectInfo, maxBytes: number): Promise<Uint8Array> {
    this.#expectAtMost(info, maxBytes);
    const bytes = await objects.getBlob(info.name);
    if (bytes !== null) return bytes;
    throw new AwayError(`${this.name}: expected an object ${info.name}, got none`);
  }

  /** @throws RuntimeError RUNTIME_SOURCE */
  #expectAtMost({ name, size }: ObjectInfo, maxBytes: number): void {
    if (size <= maxBytes) return;
    const message = `expected at most ${maxBytes} bytes of ${name}, got ${size}`;
    throw new RuntimeError("RUNTIME_SOURCE", `${this.name}: ${message}`);
  }

  async #asking<T>(signal: AbortSignal, work: (objects: ObjectStore) => Promise<T>): Promise<T> {
    try {
      signal.throwIfAborted();
      this.#opening ??= this.#open();
      const { objects } = await this.#opening.catch((error) => {
        this.#opening = null;
        throw error;
      });
      return await work(objects);
    } catch (error) {
      signal.throwIfAborted();
      const isKnown = error instanceof RuntimeError || (error instanceof Error && "path" in error);
      if (isKnown) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new AwayError(`${this.name}: expected an answer, got: ${reason}`);
    }
  }

  async #open(): Promise<Opened> {
    const { servers, bucket } = this.#place;
    const { connect, credsAuthenticator, Objm } = await natsPackages(this.name);
    const connection = await connect({
      ...{ servers, name: "stratagem", timeout: CONNECT_MS, maxReconnectAttempts: -1 },
      ...(await natsCredentials(this.#options.tokenFile, credsAuthenticator)),
    });
    const stop = () => void connection.close();
    this.#options.signal.addEventListener("abort", stop, { once: true });
    try {
      return { connection, objects: await new Objm(connection).open(bucket) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }
}

/** Null where there is none, or not any more. */
async function infoOf(objects: ObjectStore, name: string): Promise<ObjectInfo | null> {
  const info = await objects.info(name);
  return info === null || info.deleted ? null : info;
}

/** @throws RuntimeError RUNTIME_USAGE */
function placeOf(text: string): Place {
  const { host, pathname } = new URL(text);
  const [, bucket = "", ...rest] = pathname.split("/").map(decodeURIComponent);
  const object = rest.join("/");
  if (/^[\w-]+$/.test(bucket) && object !== "") return { servers: host, bucket, object };
  const expected = "expected nats://HOST:PORT/BUCKET/OBJECT";
  throw new RuntimeError("RUNTIME_USAGE", `--policy: ${expected}, got ${text}`);
}

function besideOf(object: string, file: string): string {
  return `${object.slice(0, object.lastIndexOf("/") + 1)}${file}`;
}
