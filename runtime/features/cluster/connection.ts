/**
 * The connection to the NATS of a cluster. Nobody waits for it: while it is away nothing is sent,
 * and it is made again as often as it takes.
 */

import { readFile } from "node:fs/promises";
import { RuntimeError } from "../../base/errors.ts";
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import type { ClusterUrl } from "./cluster-url.ts";
import { type ClusterPackages, clusterPackages, type NatsLink } from "./nats-packages.ts";

interface ConnectionOptions {
  readonly url: ClusterUrl;
  /** What it is called in the lists of NATS. */
  readonly clientName: string;
  /** Path of a file of credentials: what nsc writes, a token, or USER:PASSWORD. */
  readonly tokenFile?: string | undefined;
  readonly onNotice: Notice;
  /** Left out for real time. */
  readonly wait?: Wait;
}

/** Told of each link once it is there, and with null once it has gone. */
type LinkListener = (link: NatsLink | null) => void;

/** Of pings; after two without an answer, at the third, a link is taken for cut. */
const PING_MS = 1000;
const PINGS_OUT = 2;
const DIAL_MS = 2000;
const RETRY_MS = 500;
/** What a link says at its end; at the last two it is left before it ends by itself. */
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
   * Does not wait for NATS. @throws RuntimeError RUNTIME_CLUSTER without the packages of its
   * client, RUNTIME_UNREADABLE without the file of credentials.
   */
  static async open(options: ConnectionOptions): Promise<ClusterConnection> {
    const packages = await clusterPackages("--cluster");
    await natsCredentials(options.tokenFile, packages.credsAuthenticator);
    return new ClusterConnection(options, packages);
  }

  get isAway(): boolean {
    return this.#link === null;
  }

  /** Null while it is away. */
  get link(): NatsLink | null {
    return this.#link;
  }

  /** Is told at once where there is a link. @returns what ends it. */
  onLink(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    if (this.#link !== null) listener(this.#link);
    return () => this.#listeners.delete(listener);
  }

  /** @param name below the cluster's own. @returns false, with nothing sent, while it is away. */
  publish(name: string, text: string): boolean {
    if (this.#link === null) return false;
    this.#link.publish(this.subject(name), text);
    return true;
  }

  /** Over all links that there will be. @returns what ends it. */
  subscribe(name: string, onText: (text: string, subject: string) => void): () => void {
    let isOpen = true;
    let own: { unsubscribe(): void } | null = null;
    const end = this.onLink((link) => {
      own = null;
      if (link === null) return;
      own = link.subscribe(this.subject(name), {
        callback: (error, message) => {
          // An error ends the link as well, or means that it may not be heard: `#told` has it.
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

  /** The whole of a subject of this cluster. */
  subject(name: string): string {
    return `${this.url.name}.${name}`;
  }

  /** Ends everything that is under way. */
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
        this.#told("the link was lost");
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
      this.#told(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  #up(link: NatsLink): void {
    this.#link = link;
    if (this.#isReported) this.#options.onNotice(`${this.url.text}: it is back`);
    this.#isReported = false;
    for (const listener of this.#listeners) listener(link);
  }

  #down(): void {
    if (this.#link === null) return;
    this.#link = null;
    for (const listener of this.#listeners) listener(null);
  }

  #told(reason: string): void {
    if (this.#isReported || this.#closing.signal.aborted) return;
    this.#isReported = true;
    const goesOn = "what is known of workers stays as it is until it is back";
    this.#options.onNotice(`${this.url.text}: it is away (${reason}); ${goesOn}`, "warn");
  }
}

/** Once nothing more is to be expected of a link. */
async function endOf(link: NatsLink): Promise<void> {
  const over = (async () => {
    for await (const { type } of link.status()) if (ENDS.has(type)) return;
  })();
  await Promise.race([over, link.closed()]);
  // A cut link may take long to close.
  void link.close().catch(() => {});
}

const CREDENTIALS = "-----BEGIN NATS USER JWT-----";

/**
 * Credentials as the client of NATS takes them. @param path left out for none.
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
