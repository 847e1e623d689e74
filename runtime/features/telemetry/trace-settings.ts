/** Settings of traces in the form of Triton's trace extension. */

import type { Notice } from "../../base/notice.ts";
import type { HostedModel } from "../../server/applications/hosted-model.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";
import type { Sampling, SamplingState } from "./otlp/sampling.ts";

export interface OperatedTraces {
  /** Undefined if no traces are exported. */
  readonly sampling: Sampling | undefined;
}

type TraceSettings = Readonly<Record<string, string | readonly string[]>>;

const OFF: SamplingState = { isOn: false, ratio: 1 };
const LEVELS = ["TIMESTAMPS", "OFF"];
const RATE = /^\d{1,20}(?:\.\d{1,20})?(?:e\+\d{1,3})?$/;

export function traceSettings({ sampling }: OperatedTraces): TraceSettings {
  const { isOn, ratio } = sampling?.state ?? OFF;
  return {
    trace_file: "",
    trace_level: [isOn ? "TIMESTAMPS" : "OFF"],
    trace_rate: String(rateOf(ratio)),
    trace_count: "-1",
    log_frequency: "0",
    trace_mode: "opentelemetry",
  };
}

/**
 * Applies the requested changes, all or none; null resets a setting to its value at the start.
 * @param model undefined for all; every model has the same settings.
 * @returns the settings in force afterwards.
 * @throws BadRequest for a value that cannot be set.
 */
export function changeTraces(
  operated: OperatedTraces,
  asked: Readonly<Record<string, unknown>>,
  onNotice: Notice,
  model: HostedModel | undefined,
): TraceSettings {
  const { sampling } = operated;
  const before = traceSettings(operated);
  const started = sampling?.started ?? OFF;
  let state = sampling?.state ?? OFF;
  for (const [name, value] of Object.entries(asked)) {
    const now = Object.hasOwn(before, name) ? before[name] : undefined;
    if (now === undefined) {
      throw new BadRequest(name, `expected one of ${Object.keys(before).join(", ")}`, value);
    }
    const text = value === null ? null : textOf(value);
    const isFixed = sampling === undefined || model !== undefined;
    if (!isFixed && name === "trace_level") {
      state = { ...state, isOn: text === null ? started.isOn : isOnBy(text, value) };
    } else if (!isFixed && name === "trace_rate") {
      state = { ...state, ratio: text === null ? started.ratio : ratioOf(text, value) };
    } else if (text !== null && text !== textOf(now)) {
      const why = name === "trace_level" || name === "trace_rate" ? fixedBy(model) : "";
      throw new BadRequest(name, `expected "${textOf(now)}"${why}`, foundOf(value));
    }
  }
  const current = sampling?.state ?? OFF;
  if (state.isOn !== current.isOn || state.ratio !== current.ratio) {
    sampling?.change(state);
    onNotice(`the trace settings were changed: ${describe(state)}`);
  }
  return traceSettings(operated);
}

function describe({ isOn, ratio }: SamplingState): string {
  if (!isOn) return "nothing is traced";
  return ratio === 0
    ? "no trace starts at this server"
    : `one request in ${rateOf(ratio)} is traced`;
}

/** Rounded, so that a whole rate stays whole after the division. */
function rateOf(ratio: number): number {
  return ratio === 0 ? 0 : Number((1 / ratio).toPrecision(12));
}

/** Joins a text, a number or a list of them, the forms that clients send. */
function textOf(value: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isPlain = list.every((one) => typeof one === "string" || typeof one === "number");
  return isPlain ? list.join() : undefined;
}

function foundOf(value: unknown): unknown {
  return textOf(value) ?? value;
}

function isOnBy(text: string | undefined, value: unknown): boolean {
  if (text !== undefined && LEVELS.includes(text)) return text !== "OFF";
  throw new BadRequest("trace_level", 'expected "TIMESTAMPS" or "OFF"', foundOf(value));
}

/** Share of the requests for a rate of one in `text`; 0 for none. */
function ratioOf(text: string | undefined, value: unknown): number {
  const rate = text !== undefined && RATE.test(text) ? Number(text) : Number.NaN;
  if (rate === 0) return 0;
  if (rate >= 1) return 1 / rate;
  throw new BadRequest("trace_rate", 'expected "0" or a number >= "1"', foundOf(value));
}

function fixedBy(model: HostedModel | undefined): string {
  if (model !== undefined) return " (a model has the settings of the server)";
  return " (traces need an OTLP endpoint, --otlp-endpoint)";
}
