/** A v2 server over gRPC with raw contents, by one channel that stays open. */

import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { OnComputed } from "../exec/executor.ts";
import {
  describedTensors,
  type Fields,
  fieldsOf,
  MAX_ANSWER_BYTES,
  MAX_TEXT_BYTES,
} from "../exec/v2-codec.ts";
import * as pb from "../server/grpc/pb/inference-pb.ts";
import { answerOf, requestBytes } from "./grpc-batch.ts";
import { isNotThere, refusalOf, wasSaid } from "./grpc-refusal.ts";
import {
  type AskedBatch,
  type BatchAnswer,
  type DescribedModel,
  LOAD_MS,
  type OpenAnswer,
  QUESTION_MS,
  ServerRefusal,
  type V2Connection,
} from "./v2-connection.ts";
import type { ReadToken } from "./worker-token.ts";

const PATH = "/inference.GRPCInferenceService";
/** After the time of a batch, whose own timer comes first: nothing is open for ever. */
const GRACE_MS = 1000;
/** A large batch needs no answers of its receiver on its way. */
const WINDOW_BYTES = 2 ** 24;

const OPTIONS = {
  "grpc.max_receive_message_length": MAX_ANSWER_BYTES,
  "grpc.max_send_message_length": -1,
  // A batch is sent again by who knows what became of it, or not at all.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // Each worker has a connection of its own, by no proxy, as over HTTP.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc-node.flow_control_window": WINDOW_BYTES,
};

interface Call {
  readonly method: string;
  readonly metadata: Metadata;
  /** Of its deadline, as time that is left, ms. */
  readonly timeoutMs: number;
}

interface Reply {
  readonly bytes: Uint8Array;
  /** Before the answer, and after it. */
  readonly metadata: readonly Metadata[];
}

interface OpenCall {
  readonly reply: Promise<Reply>;
  abort(reason: string): void;
}

export class GrpcConnection implements V2Connection {
  readonly #client: Client;
  readonly #readToken: ReadToken;

  /** @param url `grpc://HOST:PORT`, or `grpcs`, of the server. */
  constructor(url: string, readToken: ReadToken) {
    const isTls = url.startsWith("grpcs:");
    const channel = isTls ? credentials.createSsl() : credentials.createInsecure();
    this.#client = new Client(targetOf(url), channel, OPTIONS);
    this.#readToken = readToken;
  }

  async expectReady(timeoutMs: number): Promise<void> {
    const schemas = [pb.ServerReadyRequestSchema, pb.ServerReadyResponseSchema] as const;
    const { ready } = await this.#ask("ServerReady", schemas, {}, { timeoutMs });
    if (!ready) throw new ServerRefusal(503, "it is not ready");
  }

  async describe(model: string): Promise<DescribedModel | null> {
    const schemas = [pb.ModelMetadataRequestSchema, pb.ModelMetadataResponseSchema] as const;
    const told = await this.#find("ModelMetadata", schemas, { name: model });
    if (told === null) return null;
    const sides = { inputs: tensorsOf(told.inputs), outputs: tensorsOf(told.outputs) };
    const tensors = describedTensors(Buffer.from(JSON.stringify(sides)), "any");
    // The protocol has no place for a digest.
    return { ...tensors, sha256: null };
  }

  async configOf(model: string): Promise<Fields | null> {
    const schemas = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
    const told = await this.#find("ModelConfig", schemas, { name: model });
    if (told?.config === undefined) return null;
    const json = toJson(pb.ModelConfigSchema, told.config, { useProtoFieldName: true });
    return fieldsOf(json, "its configuration");
  }

  async statisticsOf(model: string): Promise<Fields | null> {
    const schemas = [pb.ModelStatisticsRequestSchema, pb.ModelStatisticsResponseSchema] as const;
    const told = await this.#find("ModelStatistics", schemas, { name: model });
    if (told === null) return null;
    const json = toJson(pb.ModelStatisticsResponseSchema, told, { useProtoFieldName: true });
    return fieldsOf(json, "its statistics");
  }

  async change(
    model: string,
    action: "load" | "unload",
    parameters: Fields,
    lease: string | null,
  ): Promise<boolean> {
    const more = { timeoutMs: LOAD_MS, lease };
    const asked = { modelName: model };
    try {
      if (action === "load") {
        const schemas = [
          pb.RepositoryModelLoadRequestSchema,
          pb.RepositoryModelLoadResponseSchema,
        ] as const;
        const given = { ...asked, parameters: repositoryParameters(parameters) };
        await this.#ask("RepositoryModelLoad", schemas, given, more);
      } else {
        const schemas = [
          pb.RepositoryModelUnloadRequestSchema,
          pb.RepositoryModelUnloadResponseSchema,
        ] as const;
        await this.#ask("RepositoryModelUnload", schemas, asked, more);
      }
      return true;
    } catch (error) {
      if (isNotThere(error)) return false;
      throw error;
    }
  }

  infer(batch: AskedBatch, onComputed: OnComputed): OpenAnswer {
    const leftMs = Math.max(1, Math.round(batch.timeLeftMs));
    const metadata = metadataOf(batch.lease);
    metadata.set("stratagem-deadline-ms", String(leftMs));
    const call = { method: "ModelInfer", metadata, timeoutMs: leftMs + GRACE_MS };
    const open = this.#open(call, () => requestBytes(batch), MAX_ANSWER_BYTES);
    const answer = open.reply.then((reply): BatchAnswer => {
      // An answer is one message, which begins and ends at once.
      const given = answerOf(reply.bytes, reply.metadata, batch.outputs);
      onComputed(given.wallMs ?? undefined);
      return given;
    });
    return { answer, abort: open.abort };
  }

  close(): void {
    this.#client.close();
  }

  /** @returns null where the server has no such model, or does not tell of it. */
  async #find<I extends DescMessage, O extends DescMessage>(
    method: string,
    schemas: readonly [I, O],
    asked: MessageInitShape<I>,
  ): Promise<MessageShape<O> | null> {
    try {
      return await this.#ask(method, schemas, asked, { timeoutMs: QUESTION_MS });
    } catch (error) {
      if (isNotThere(error)) return null;
      throw error;
    }
  }

  async #ask<I extends DescMessage, O extends DescMessage>(
    method: string,
    [input, output]: readonly [I, O],
    asked: MessageInitShape<I>,
    { timeoutMs, lease = null }: { readonly timeoutMs: number; readonly lease?: string | null },
  ): Promise<MessageShape<O>> {
    const call = { method, timeoutMs, metadata: metadataOf(lease) };
    const { reply } = this.#open(call, () => toBinary(input, create(input, asked)), MAX_TEXT_BYTES);
    return fromBinary(output, (await reply).bytes);
  }

  /** @throws Error, ServerRefusal by the promise alone. */
  #open(call: Call, write: () => Uint8Array, maxBytes: number): OpenCall {
    let cancel: (() => void) | null = null;
    let stopped: Error | null = null;
    const reply = this.#readToken().then((authorization) => {
      if (stopped !== null) throw stopped;
      if (authorization !== null) call.metadata.set("authorization", authorization);
      const sent = this.#send(call, write());
      cancel = sent.cancel;
      return sent.reply;
    });
    const checked = reply.then(
      (given) => {
        if (given.bytes.length <= maxBytes) return given;
        throw new Error(`it answered with more than ${maxBytes} bytes`);
      },
      (error: unknown) => {
        throw stopped ?? error;
      },
    );
    const abort = (reason: string) => {
      stopped ??= new Error(reason);
      cancel?.();
    };
    return { reply: checked, abort };
  }

  #send({ method, metadata, timeoutMs }: Call, message: Uint8Array) {
    const given: Metadata[] = [];
    let cancel = () => {};
    const reply = new Promise<Reply>((resolve, reject) => {
      let bytes: Uint8Array = new Uint8Array();
      const onAnswer = (error: ServiceError | null, value?: Uint8Array) => {
        if (error === null) {
          bytes = value ?? bytes;
          return;
        }
        const isSaid = given.length > 0 || wasSaid(error);
        reject(isSaid ? refusalOf(error) : new Error(error.details || error.message));
      };
      const deadline = Date.now() + timeoutMs;
      const call = this.#client.makeUnaryRequest(
        `${PATH}/${method}`,
        asBuffer,
        (buffer): Uint8Array => buffer,
        message,
        metadata,
        { deadline },
        onAnswer,
      );
      cancel = () => call.cancel();
      call.on("metadata", (head) => given.push(head));
      // After the answer: what the server says last is there too.
      call.on("status", (status) => {
        if (status.code === 0) resolve({ bytes, metadata: [...given, status.metadata] });
      });
    });
    return { reply, cancel };
  }
}

/** As grpc-js has it. */
function targetOf(url: string): string {
  return `dns:${new URL(url).host}`;
}

function metadataOf(lease: string | null): Metadata {
  const metadata = new Metadata();
  if (lease !== null) metadata.set("stratagem-lease", lease);
  return metadata;
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

interface ToldTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly bigint[];
}

/** As JSON has them. */
function tensorsOf(told: readonly ToldTensor[]) {
  return told.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(Number) }));
}

function repositoryParameters(parameters: Fields) {
  const entries = Object.entries(parameters).map(([name, value]) => {
    const parameterChoice = { case: "stringParam", value: String(value) } as const;
    return [name, { parameterChoice }] as const;
  });
  return Object.fromEntries(entries);
}
