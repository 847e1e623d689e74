/**
 * Connection to a cluster's NATS. No caller waits for it: while it is down nothing is sent, and it
 * reconnects until it succeeds.
 */

import { readFile } from "node:fs/promises";
import { RuntimeError } from "../../base/errors.ts";
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import type { ClusterUrl } from "./cluster-url.ts";
import { type ClusterPackages, clusterPackages, type NatsLink } from "./nats-packages.ts";

interface ConnectionOptions {
  readonly url: ClusterUrl;
  /** Name in NATS's list of clients. */
  readonly clientName: string;
  /** Path of a credentials file: nsc's format, a token, or USER:PASSWORD. */
  readonly tokenFile?: string | undefined;
  readonly onNotice: Notice;
  /** Waits; by default in real time. */
  readonly wait?: Wait;
}

/** Called with each new link, and with null when it is lost. */
type LinkListener = (link: NatsLink | null) => void;

/** Interval of pings; after two unanswered pings, the third ends the link. */
const PING_MS = 1000;
const PINGS_OUT = 2;
const DIAL_MS = 2000;
const RETRY_MS = 500;
/** Status events that end a link; after the last two it is closed actively. */
const ENDS = new Set(["disconnect", "close", "staleConnection", "ldm"]);

export class ClusterConnection {
  readonly url: ClusterUrl;
  readonly packages: ClusterPackages;
  readonly #options: ConnectionOptions;
  readonly #wait: Wait;
  readonly #listeners = new Set<LinkListener>();
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #link: NatsLink | null = null;
  #isReported = false;

  private constructor(options: ConnectionOptions, packages: ClusterPackages) {
    this.url = options.url;
    this.packages = packages;
    this.#options = options;
    this.#wait = options.wait ?? realWait;
    this.#ended = this.#run();
  }

  /**
   * Opens the connection without waiting for NATS. @throws RuntimeError RUNTIME_CLUSTER if the
   * client packages are missing, RUNTIME_UNREADABLE if the credentials cannot be read.
   */
  static async open(options: ConnectionOptions): Promise<ClusterConnection> {
    const packages = await clusterPackages("--cluster");
    await natsCredentials(options.tokenFile, packages.credsAuthenticator);
    return new ClusterConnection(options, packages);
  }

  get isAway(): boolean {
    return this.#link === null;
  }

  /** Null while disconnected. */
  get link(): NatsLink | null {
    return this.#link;
  }

  /**
   * Adds a listener, which is called at once if a link exists. @returns a function that removes it.
   */
  onLink(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    if (this.#link !== null) listener(this.#link);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Publishes below the cluster's subject. @returns false, with nothing sent, while disconnected.
   */
  publish(name: string, text: string): boolean {
    if (this.#link === null) return false;
    this.#link.publish(this.subject(name), text);
    return true;
  }

  /** Subscribes on the current and all later links. @returns a function that unsubscribes. */
  subscribe(name: string, onText: (text: string, subject: string) => void): () => void {
    let isOpen = true;
    let own: { unsubscribe(): void } | null = null;
    const end = this.onLink((link) => {
      own = null;
      if (link === null) return;
      own = link.subscribe(this.subject(name), {
        callback: (error, message) => {
          // An error ends the link too, or means missing permission; `#reportAway` handles both.
          if (error === null && isOpen) onText(message.string(), message.subject);
        },
      });
    });
    return () => {
      isOpen = false;
      end();
      if (this.#link !== null) own?.unsubscribe();
    };
  }

  /** Full subject within this cluster. */
  subject(name: string): string {
    return `${this.url.name}.${name}`;
  }

  /** Closes the connection and ends all running operations. */
  async close(): Promise<void> {
    this.#closing.abort();
    const link = this.#link;
    this.#down();
    await link?.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const link = await this.#dialled();
      if (signal.aborted) {
        await link?.close();
        return;
      }
      if (link !== null) {
        this.#up(link);
        await endOf(link);
        if (signal.aborted) return;
        this.#down();
        this.#reportAway("the link was lost");
      }
      await this.#wait(RETRY_MS, signal);
    }
  }

  async #dialled(): Promise<NatsLink | null> {
    const { clientName, tokenFile, url } = this.#options;
    try {
      const { connect, credsAuthenticator } = this.packages;
      return await connect({
        ...{ servers: [...url.servers], name: clientName, timeout: DIAL_MS, reconnect: false },
        ...{ pingInterval: PING_MS, maxPingOut: PINGS_OUT },
        ...(url.isEncrypted ? { tls: {} } : {}),
        ...(await natsCredentials(tokenFile, credsAuthenticator)),
      });
    } catch (error) {
      this.#reportAway(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  #up(link: NatsLink): void {
    this.#link = link;
    if (this.#isReported) this.#options.onNotice(`${this.url.text}: connected again`);
    this.#isReported = false;
    for (const listener of this.#listeners) listener(link);
  }

  #down(): void {
    if (this.#link === null) return;
    this.#link = null;
    for (const listener of this.#listeners) listener(null);
  }

  #reportAway(reason: string): void {
    if (this.#isReported || this.#closing.signal.aborted) return;
    this.#isReported = true;
    const effect = "the known workers are kept until it is reachable again";
    this.#options.onNotice(`${this.url.text}: NATS is unreachable (${reason}); ${effect}`, "warn");
  }
}

/** Resolves when a link has ended or is about to. */
async function endOf(link: NatsLink): Promise<void> {
  const over = (async () => {
    for await (const { type } of link.status()) if (ENDS.has(type)) return;
  })();
  await Promise.race([over, link.closed()]);
  // Closing a broken link can take long.
  void link.close().catch(() => {});
}

const CREDENTIALS = "-----BEGIN NATS USER JWT-----";

/**
 * Credentials in the form of the NATS client. @param path omitted for none.
 * @throws RuntimeError RUNTIME_UNREADABLE
 */
async function natsCredentials(
  path: string | undefined,
  credsAuthenticator: (bytes: Uint8Array) => unknown,
): Promise<object> {
  if (path === undefined) return {};
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const found = error.code ?? error.message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected credentials, got: ${found}`);
  });
  if (text.includes(CREDENTIALS)) return { authenticator: credsAuthenticator(Buffer.from(text)) };
  const token = text.trim();
  const colon = token.indexOf(":");
  if (colon < 0) return { token };
  return { user: token.slice(0, colon), pass: token.slice(colon + 1) };
}
