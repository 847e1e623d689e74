/** What the process that decides and those that accept tell each other beside requests, as JSON. */
import type { SloClass } from "../../bundle/schema.ts";
import type { AccessOptions } from "../access/access.ts";
import type { Need } from "../access/scopes.ts";
import type { Application } from "../applications/application.ts";
import type { ServerLimits } from "../applications/limits.ts";
import type { MetricLine } from "../metrics/exposition.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Severity } from "../telemetry/notice.ts";
import type { OtlpSettings } from "../telemetry/otlp/otlp-settings.ts";
import type { SamplingState } from "../telemetry/otlp/sampling.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { KINDS, textFrame } from "./frames.ts";

/** What a process that accepts is started with. */
export interface AcceptorSetup {
  readonly version: string;
  /** Those that accept, this one included. */
  readonly processes: number;
  /** Its part of them. */
  readonly limits: ServerLimits;
  readonly access: AccessOptions;
  /** What is served at the shared address. */
  readonly needs: readonly Need[];
  /** Of the socket where it asks what is no inference. */
  readonly relayPath: string;
  readonly hasAccessLog: boolean;
  readonly hasDecisionLog: boolean;
  /** Where traces are sent; undefined for nowhere. */
  readonly otlp?: OtlpSettings | undefined;
  /** Which requests are traced, as it was changed since the start; null where nothing is. */
  readonly sampling: SamplingState | null;
  /** Whether parameters of answers are all texts. */
  readonly textParameters: boolean;
  readonly applications: readonly ToldApplication[];
}

/** What of it does not change while the server runs. */
export type AcceptorBase = Omit<AcceptorSetup, "applications" | "relayPath" | "sampling">;

export interface ToldApplication {
  readonly id: number;
  readonly name: string;
  readonly sloMs: number;
  readonly limits: Pick<ServerLimits, "maxRows" | "maxBodyBytes">;
  readonly models: readonly ToldModel[];
}

export interface ToldModel {
  readonly id: number;
  readonly signature: ClientSignature;
  /** Rows of one request; null where only the server has a limit. */
  readonly maxRows: number | null;
  /** Null where all requests have the same SLO. */
  readonly classes: readonly SloClass[] | null;
  /** Names by which requests are of any class. */
  readonly plainNames: readonly string[];
  /** Whether it says itself that it is full. */
  readonly hasOwnRoom: boolean;
}

export type ToldAcceptor =
  /** In their places; others than before have to be taken over. */
  | { readonly what: "applications"; readonly applications: readonly ToldApplication[] }
  /** Ids of models that find no room for any request. */
  | { readonly what: "shut"; readonly models: readonly number[] }
  | { readonly what: "count"; readonly call: number }
  | { readonly what: "read access files"; readonly call: number }
  /** Which requests are traced from now on. */
  | { readonly what: "sampling"; readonly state: SamplingState }
  /** All others have counted. */
  | { readonly what: "all counted"; readonly call: number }
  /** @property hasOthers whether others accept at the address, and it is to let go at once. */
  | { readonly what: "stop"; readonly hasOthers: boolean };

export type ToldDispatcher =
  | { readonly what: "listening" }
  /** It could not start. */
  | { readonly what: "failed"; readonly code: string | null; readonly message: string }
  /** It does not accept any more. */
  | { readonly what: "off the address" }
  /** It has answered all that it had for an application that was replaced. */
  | { readonly what: "let go"; readonly application: number }
  /** @property call null where nobody has asked. */
  | { readonly what: "counts"; readonly call: number | null; readonly lines: readonly MetricLine[] }
  | { readonly what: "access files"; readonly call: number; readonly faults: readonly string[] }
  | { readonly what: "count all"; readonly call: number }
  | { readonly what: "notice"; readonly message: string; readonly severity: Severity };

export function toldFrame(told: ToldAcceptor | ToldDispatcher): Buffer {
  return textFrame(KINDS.told, JSON.stringify(told));
}

/** @param idOf what it is called between processes. */
export function toldApplication(
  application: Application,
  idOf: (one: object) => number,
): ToldApplication {
  const { name, sloMs, limits, endpoint } = application;
  const { maxRows, maxBodyBytes } = limits;
  return {
    id: idOf(application),
    name,
    sloMs,
    limits: { maxRows, maxBodyBytes },
    models: endpoint.models.map((model) => toldModel(model, idOf(model))),
  };
}

function toldModel({ signature, maxRows, classes, isFull }: EndpointModel, id: number): ToldModel {
  const { names, inputs, outputs, variants, answersByRow, outputsAreRows } = signature;
  const { hasSequences, axes } = signature;
  return {
    id,
    // No more of it than clients see.
    signature: {
      names,
      inputs,
      outputs,
      variants: variants.map(({ name }) => ({ name })),
      ...(answersByRow === undefined ? {} : { answersByRow }),
      ...(axes === undefined ? {} : { axes }),
      ...(outputsAreRows === undefined ? {} : { outputsAreRows }),
      ...(hasSequences === undefined ? {} : { hasSequences }),
    },
    maxRows: maxRows ?? null,
    classes: classes?.stated ?? null,
    plainNames: names.filter((name) => classes?.modelNames.includes(name) !== true),
    hasOwnRoom: isFull !== undefined,
  };
}
