/** Client of a v2 server over HTTP with binary tensors and persistent connections. */

import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { causeOf } from "../base/http-client.ts";
import type { OnComputed } from "../exec/models/executor.ts";
import {
  describedTensors,
  type Fields,
  fieldsOf,
  HEADER_LENGTH,
  headerLengthOf,
  inferJson,
  lengthOf,
  MAX_ANSWER_BYTES,
  MAX_TEXT_BYTES,
  outputsOf,
  wordsOf,
} from "../exec/tensors/v2-codec.ts";
import {
  type AskedBatch,
  type BatchAnswer,
  type DescribedModel,
  LOAD_MS,
  type OpenAnswer,
  QUESTION_MS,
  ServerRefusal,
} from "./asked-batch.ts";
import type { ReadToken } from "./worker-token.ts";

/** Enough for a running batch, one in transfer, a heartbeat, and one spare. */
const MOST_SOCKETS = 4;
const SHA256 = /^[0-9a-f]{64}$/;
/** Header with the time of the run, from Stratagem's own workers. */
const WALL_MS = "stratagem-wall-ms";
/** Statuses of servers for models or extensions that they lack. */
const NOT_THERE = new Set([400, 404, 405, 501]);

interface Question {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly Uint8Array[];
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly onHead?: (headers: IncomingHttpHeaders) => void;
}

interface Reply {
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
}

interface OpenReply {
  readonly reply: Promise<Reply>;
  abort(reason: string): void;
}

export class HttpConnection {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #request: typeof request;
  readonly #readToken: ReadToken;

  /** @param url without a trailing slash. */
  constructor(url: string, readToken: ReadToken) {
    this.#url = url;
    const isTls = url.startsWith("https:");
    const options = { keepAlive: true, maxSockets: MOST_SOCKETS, noDelay: true };
    this.#agent = isTls ? new TlsAgent(options) : new Agent(options);
    this.#request = isTls ? tlsRequest : request;
    this.#readToken = readToken;
  }

  /** @throws ServerRefusal, Error unless the server reports in time that it is ready. */
  async expectReady(timeoutMs: number): Promise<void> {
    await this.#ask("/v2/health/ready", { maxBytes: MAX_TEXT_BYTES, timeoutMs });
  }

  /** Describes a model; null if it is missing or not ready. */
  async describe(model: string): Promise<DescribedModel | null> {
    const bytes = await this.#find(`/v2/models/${encodeURIComponent(model)}`);
    if (bytes === null) return null;
    return { ...describedTensors(bytes, "any"), sha256: digestOf(bytes) };
  }

  /** Whether outputs can stay on the server and be read by other workers under this URL. */
  async keepsTensors(): Promise<boolean> {
    const bytes = new URL(this.#url).origin === this.#url ? await this.#find("/v2") : null;
    const { extensions } = bytes === null ? {} : fieldsOf(JSON.parse(bytes.toString()), "it");
    return Array.isArray(extensions) && extensions.includes("stratagem_values");
  }

  /** Configuration of a model in Triton's format; null if not available. */
  async configOf(model: string): Promise<Fields | null> {
    const bytes = await this.#find(`/v2/models/${encodeURIComponent(model)}/config`);
    return bytes === null ? null : fieldsOf(JSON.parse(bytes.toString()), "its configuration");
  }

  /** Statistics of a model in Triton's format; null if not available. */
  async statisticsOf(model: string): Promise<Fields | null> {
    const bytes = await this.#find(`/v2/models/${encodeURIComponent(model)}/stats`);
    return bytes === null ? null : fieldsOf(JSON.parse(bytes.toString()), "its statistics");
  }

  /**
   * Makes the server load or unload a model.
   * @param lease null without leases.
   * @returns false if the server lacks the extension or the model.
   */
  async change(
    model: string,
    action: "load" | "unload",
    parameters: Fields,
    lease: string | null,
  ): Promise<boolean> {
    const path = `/v2/repository/models/${encodeURIComponent(model)}/${action}`;
    const body = Buffer.from(JSON.stringify({ parameters }));
    const headers = { "content-type": "application/json", ...fencedBy(lease) };
    const asked = { method: "POST", headers, chunks: [body], maxBytes: MAX_TEXT_BYTES } as const;
    try {
      await this.#ask(path, { ...asked, timeoutMs: LOAD_MS });
      return true;
    } catch (error) {
      if (error instanceof ServerRefusal && NOT_THERE.has(error.status)) return false;
      throw error;
    }
  }

  /**
   * @param onComputed called at most once, see `Executor.run`: when the answer begins to arrive.
   */
  infer(batch: AskedBatch, onComputed: OnComputed): OpenAnswer {
    const { model, id, inputs, outputs, stays, lease, timeLeftMs } = batch;
    const json = inferJson(inputs, outputs, { id }, stays);
    const open = this.#open(`/v2/models/${encodeURIComponent(model)}/infer`, {
      method: "POST",
      headers: {
        [HEADER_LENGTH]: String(json.length),
        "content-type": "application/octet-stream",
        "stratagem-deadline-ms": String(Math.max(1, Math.round(timeLeftMs))),
        ...fencedBy(lease),
      },
      chunks: [json, ...inputs.flatMap(({ chunks }) => chunks)],
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: 0,
      onHead: (headers) => onComputed(msOf(headers[WALL_MS]) ?? undefined),
    });
    return { answer: open.reply.then((reply) => answerOf(reply, batch)), abort: open.abort };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #find(path: string): Promise<Buffer | null> {
    try {
      const { bytes } = await this.#ask(path, { maxBytes: MAX_TEXT_BYTES, timeoutMs: QUESTION_MS });
      return bytes;
    } catch (error) {
      // Triton responds to an unknown model with status 400.
      if (error instanceof ServerRefusal && NOT_THERE.has(error.status)) return null;
      throw error;
    }
  }

  async #ask(path: string, question: Question): Promise<Reply> {
    return this.#open(path, question).reply;
  }

  /** @throws Error, ServerRefusal through the promise only. */
  #open(path: string, question: Question): OpenReply {
    let given: ClientRequest | null = null;
    let stopped: Error | null = null;
    const stop = (error: Error) => {
      stopped ??= error;
      given?.destroy(stopped);
    };
    const timer =
      question.timeoutMs === 0
        ? undefined
        : startTimeout(question.timeoutMs, (error) => stop(error));
    const send = (authorization: string | null, isFirst: boolean): Promise<Reply> => {
      if (stopped !== null) return Promise.reject(stopped);
      const sent = this.#send(path, question, authorization);
      given = sent.request;
      return sent.reply.catch((error: unknown) => {
        const isClosed = isFirst && stopped === null && sent.isOnClosedSocket();
        if (isClosed) return send(authorization, false);
        throw stopped ?? error;
      });
    };
    const reply = this.#readToken()
      .then((authorization) => send(authorization, true))
      .finally(() => clearTimeout(timer));
    return { reply, abort: (reason) => stop(new Error(reason)) };
  }

  #send(path: string, question: Question, authorization: string | null) {
    const { method = "GET", headers = {}, chunks = [], maxBytes, onHead } = question;
    const sent = this.#request(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        ...headers,
        ...(chunks.length === 0 ? {} : { "content-length": String(lengthOf(chunks)) }),
        ...(authorization === null ? {} : { authorization }),
      },
    });
    let hasHead = false;
    let code: string | undefined;
    const reply = new Promise<Reply>((resolve, reject) => {
      sent.on("error", (error: NodeJS.ErrnoException) => {
        code = error.code;
        reject(new Error(causeOf(error)));
      });
      sent.on("response", (response) => {
        hasHead = true;
        const { "content-encoding": encoding = "identity" } = response.headers;
        if (encoding !== "identity") {
          sent.destroy(new Error(`expected no compression, got content-encoding ${encoding}`));
          return;
        }
        if (response.statusCode === 200) onHead?.(response.headers);
        bodyOf(response, maxBytes).then((bytes) => {
          const { statusCode = 0 } = response;
          if (statusCode >= 200 && statusCode < 300) resolve({ headers: response.headers, bytes });
          else reject(new ServerRefusal(statusCode, wordsOf(bytes), rowsOf(bytes)));
        }, reject);
      });
    });
    for (const chunk of chunks) sent.write(chunk);
    sent.end();
    /** Whether a server closed an idle connection at the moment of its reuse. */
    const isOnClosedSocket = () => {
      return !hasHead && sent.reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
    };
    return { request: sent, reply, isOnClosedSocket };
  }
}

/**
 * Reads sockets before the timeout: after a pause of this process the answer may already be there.
 */
function startTimeout(timeoutMs: number, onOver: (error: Error) => void): NodeJS.Timeout {
  const over = () => onOver(new Error(`no answer within ${timeoutMs} ms`));
  return setTimeout(() => setImmediate(() => setImmediate(over)), timeoutMs).unref();
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    if (length > maxBytes) {
      response.destroy();
      throw new Error(`expected an answer of at most ${maxBytes} bytes, got more`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function fencedBy(lease: string | null): Readonly<Record<string, string>> {
  return lease === null ? {} : { "stratagem-lease": lease };
}

/** Digest of a model's file among the parameters of Stratagem's own workers. */
function digestOf(description: Buffer): string | null {
  const { parameters } = fieldsOf(JSON.parse(description.toString()), "its description");
  if (typeof parameters !== "object" || parameters === null) return null;
  const { sha256 } = fieldsOf(parameters, "parameters");
  return typeof sha256 === "string" && SHA256.test(sha256) ? sha256 : null;
}

/** Rows that a module rejected, as Stratagem's own workers report them. */
function rowsOf(bytes: Buffer): readonly number[] | null {
  try {
    const { rows } = fieldsOf(JSON.parse(bytes.toString()), "an error");
    const isList = Array.isArray(rows) && rows.length > 0;
    return isList && rows.every((row) => Number.isSafeInteger(row) && row >= 0) ? rows : null;
  } catch {
    return null;
  }
}

function answerOf({ headers, bytes }: Reply, batch: AskedBatch): BatchAnswer {
  const given = outputsOf(bytes, headerLengthOf(headers), batch);
  return {
    // Copies, because views can be unaligned and consumers read numbers in place.
    outputs: given.map((tensor) => ({ ...tensor, bytes: new Uint8Array(tensor.bytes) })),
    wallMs: msOf(headers[WALL_MS]),
    cpuMs: msOf(headers["stratagem-cpu-ms"]),
  };
}

/** @returns null if missing or not a time. */
function msOf(text: unknown): number | null {
  const ms = typeof text === "string" && text !== "" ? Number(text) : Number.NaN;
  return ms >= 0 && Number.isFinite(ms) ? ms : null;
}
