/**
 * Watches the keys under a prefix of a bucket with consumers that end with a connection, a server
 * or a gap in the sequence. Each is followed by another, which delivers all keys again.
 */
import { realWait } from "../../base/wait.ts";
import type { ClusterConnection } from "./connection.ts";
import type { NatsLink, StreamManager, StreamMessage } from "./nats-packages.ts";
import type { StoreWatcher } from "./store.ts";

interface WatchOptions {
  readonly connection: ClusterConnection;
  readonly bucket: string;
  readonly prefix: string;
  readonly watcher: StoreWatcher;
  readonly timeoutMs: number;
  /** Rejects if the bucket does not exist yet. */
  readonly ready: () => Promise<void>;
}

/** Interval of a consumer's heartbeats; two missing ones mean that its server is gone. */
const SIGN_MS = 1000;
const NANOS_PER_MS = 1_000_000;
const RETRY_MS = 300;
/** Time after which NATS removes an unused consumer. */
const UNHEARD_MS = 10_000;

export class NatsWatch {
  readonly #options: WatchOptions;
  readonly #closing = new AbortController();
  readonly #unlink: () => void;
  /** Revisions of the reported keys. */
  readonly #known = new Map<string, number>();
  /** Creation time of the bucket that these revisions belong to. */
  #created = "";
  #link: NatsLink | null = null;
  #stopPass: (() => void) | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#unlink = options.connection.onLink((link) => {
      this.#link = link;
      this.#stopPass?.();
      if (link !== null) void this.#follow(link);
    });
  }

  close(): void {
    this.#closing.abort();
    this.#unlink();
    this.#stopPass?.();
  }

  async #follow(link: NatsLink): Promise<void> {
    const { signal } = this.#closing;
    while (this.#link === link && !signal.aborted) {
      // Another pass follows in any case; callers learn of failures from the store's operations.
      await this.#pass(link).catch(() => {});
      await realWait(RETRY_MS, signal);
    }
  }

  /** Reports all keys, then changes until the consumer ends. */
  async #pass(link: NatsLink): Promise<void> {
    const { bucket, prefix, timeoutMs, ready, connection } = this.#options;
    const { packages } = connection;
    await ready();
    const streams = packages.jetstream(link, { timeout: timeoutMs });
    const manager = await streams.jetstreamManager(false);
    await this.#rememberBucket(manager, `KV_${bucket}`);
    const inbox = packages.createInbox();
    const [prefixOfKeys, sign] = [`$KV.${bucket}.`, SIGN_MS * NANOS_PER_MS];
    const consumer = await manager.consumers.add(`KV_${bucket}`, {
      ...{ deliver_subject: inbox, deliver_policy: "last_per_subject", ack_policy: "none" },
      ...{ filter_subject: `${prefixOfKeys}${prefix}.>`, max_deliver: 1, num_replicas: 1 },
      ...{ mem_storage: true, flow_control: true, idle_heartbeat: sign },
      inactive_threshold: UNHEARD_MS * NANOS_PER_MS,
    });
    const bound = await streams.consumers.getBoundPushConsumer({
      ...{ deliver_subject: inbox, idle_heartbeat: sign, flow_control: true },
    });
    const seen = new Set<string>();
    let delivered = 0;
    let isSettled = false;
    const settle = () => {
      isSettled = true;
      this.#settle(seen);
    };
    const messages = await bound.consume({
      callback: (message) => {
        delivered += 1;
        if (message.info.deliverySequence !== delivered) return messages.stop();
        const key = message.subject.slice(prefixOfKeys.length);
        if (!isSettled) seen.add(key);
        this.#report(key, message);
        if (!isSettled && message.info.pending === 0) settle();
      },
    });
    this.#stopPass = () => messages.stop();
    if (consumer.num_pending === 0) settle();
    if (this.#link !== link || this.#closing.signal.aborted) messages.stop();
    void stopWhereSilent(messages);
    await messages.closed();
    this.#stopPass = null;
    if (!link.isClosed()) {
      await manager.consumers.delete(`KV_${bucket}`, consumer.name).catch(() => false);
    }
  }

  /** Revisions start again in a recreated bucket. */
  async #rememberBucket(manager: StreamManager, stream: string): Promise<void> {
    const { created } = await manager.streams.info(stream);
    if (created !== this.#created) for (const key of this.#known.keys()) this.#known.set(key, 0);
    this.#created = created;
  }

  #report(key: string, message: StreamMessage): void {
    const known = this.#known.get(key);
    // A replica may lag behind the one that was read before.
    if (this.#closing.signal.aborted || message.seq < (known ?? 0)) return;
    const operation = message.headers?.get("KV-Operation") ?? "";
    const isGone = operation === "DEL" || operation === "PURGE";
    if (isGone && known === undefined) return;
    if (isGone) this.#known.delete(key);
    else this.#known.set(key, message.seq);
    const value = isGone ? null : message.string();
    this.#options.watcher.onChange({ key, value, revision: message.seq });
  }

  #settle(seen: ReadonlySet<string>): void {
    if (this.#closing.signal.aborted) return;
    for (const [key, revision] of this.#known) {
      if (seen.has(key)) continue;
      this.#known.delete(key);
      this.#options.watcher.onChange({ key, value: null, revision });
    }
    this.#options.watcher.onSettled?.();
  }
}

async function stopWhereSilent(messages: {
  status(): AsyncIterable<{ readonly type: string }>;
  stop(): void;
}): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === "heartbeats_missed" || type === "consumer_deleted") messages.stop();
  }
}
