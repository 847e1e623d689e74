/** Limits of `serve`: keys under `limits` in its file, and `--limit name=value`. */

import { bytes, count, duration } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../server/applications/limits.ts";

/** Keys of settings by what they limit. */
export const LIMIT_KEYS = {
  maxBodyBytes: "maxBody",
  maxBytesInFlight: "maxInFlight",
  maxRows: "maxRows",
  maxPending: "maxPending",
  maxSequences: "maxSequences",
  maxSequenceBytes: "maxSequenceBytes",
  sequenceIdleMs: "sequenceIdle",
  maxConnections: "maxConnections",
  maxPipelined: "maxPipelined",
  maxHeaderBytes: "maxHeader",
  maxHeaderFields: "maxHeaderFields",
  headerTimeoutMs: "headerTimeout",
  bodyTimeoutMs: "bodyTimeout",
  bodyWindowMs: "bodyWindow",
  minBodyBytesPerS: "minBodyRate",
  sendTimeoutMs: "sendTimeout",
  maxUnsentBytes: "maxUnsent",
  maxUnsentBytesPerConnection: "maxUnsentPerConnection",
  idleTimeoutMs: "idleTimeout",
  lingerMs: "linger",
  drainDelayMs: "drainDelay",
  drainTimeoutMs: "drainTimeout",
} as const satisfies Record<keyof ServerLimits, string>;

const {
  maxBodyBytes,
  maxBytesInFlight,
  maxRows,
  maxSequences,
  maxSequenceBytes,
  sequenceIdleMs,
  maxConnections,
  maxPipelined,
  maxHeaderBytes,
  maxHeaderFields,
  headerTimeoutMs,
  bodyTimeoutMs,
  bodyWindowMs,
  minBodyBytesPerS,
  sendTimeoutMs,
  maxUnsentBytes,
  maxUnsentBytesPerConnection,
  idleTimeoutMs,
  lingerMs,
  drainDelayMs,
  drainTimeoutMs,
} = DEFAULT_LIMITS;

const time = () => duration({ least: 1 });

export const LIMITS = {
  maxBody: setting(
    bytes(),
    maxBodyBytes,
    "bytes of a request's body, compressed and not, where its model's shapes could need more",
  ),
  maxInFlight: setting(
    bytes(),
    maxBytesInFlight,
    "bytes of bodies and tensors of all requests without an answer",
  ),
  maxRows: setting(
    count({ least: 1, most: 2 ** 20 }),
    maxRows,
    "rows of a request, where its model has no limit of its own",
  ),
  maxPending: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "rows of an application that wait or run",
    "4096; of malleable pipelines 64 of their largest requests if that is more",
  ),
  maxSequences: setting(
    count({ least: 1, most: 2 ** 24 }),
    maxSequences,
    "sequences of a model with state that are open at a time",
  ),
  maxSequenceBytes: setting(bytes(), maxSequenceBytes, "bytes of the states of all of them"),
  sequenceIdle: setting(
    time(),
    sequenceIdleMs,
    "time that a sequence stays open without a request",
  ),
  maxConnections: setting(count({ least: 1, most: 2 ** 20 }), maxConnections, "open connections"),
  maxPipelined: setting(
    count({ least: 1, most: 2 ** 16 }),
    maxPipelined,
    "requests of one connection that wait for answers",
  ),
  maxHeader: setting(
    bytes({ least: 1024, most: 2 ** 24 }),
    maxHeaderBytes,
    "bytes of a request's line and header",
  ),
  maxHeaderFields: setting(
    count({ least: 1, most: 2 ** 16 }),
    maxHeaderFields,
    "fields of a request's header",
  ),
  headerTimeout: setting(
    time(),
    headerTimeoutMs,
    "time until a header is whole; also of a connection that sends nothing",
  ),
  bodyTimeout: setting(time(), bodyTimeoutMs, "time until a body is whole, while it comes slowly"),
  bodyWindow: setting(time(), bodyWindowMs, "time over which the rate of a body is measured"),
  minBodyRate: setting(bytes(), minBodyBytesPerS, "bytes of a body, a second, at least"),
  sendTimeout: setting(
    time(),
    sendTimeoutMs,
    "time until a client has taken the next 64 KiB of its answer",
  ),
  maxUnsent: setting(bytes(), maxUnsentBytes, "bytes of answers that clients have not taken"),
  maxUnsentPerConnection: setting(
    bytes(),
    maxUnsentBytesPerConnection,
    "bytes of answers that one connection is owed, where it is owed several",
  ),
  idleTimeout: setting(
    time(),
    idleTimeoutMs,
    "time that a connection may stay open between requests",
  ),
  linger: setting(
    time(),
    lingerMs,
    "time that a client is listened to once it was told that it is not wanted",
  ),
  drainDelay: setting(
    duration(),
    drainDelayMs,
    "time that stopping goes on serving, while its readiness sends clients elsewhere",
  ),
  drainTimeout: setting(
    duration(),
    drainTimeoutMs,
    "time that stopping then waits for what was sent to be answered",
  ),
  grpcMaxMessage: setting(
    bytes(),
    null,
    "bytes of a gRPC message that is received",
    "the largest request of the models, at most maxBody",
  ),
  grpcMaxStreams: setting(
    count({ least: 1, most: 2 ** 20 }),
    256,
    "gRPC calls of one connection at the same time",
  ),
  clientRate: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "requests per second of one client, identified by its token or its address",
    "no limit",
  ),
  clientBurst: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "requests that one client may send at once",
    "the requests of one second",
  ),
  clientConcurrency: setting(
    count({ least: 1, most: 2 ** 20 }),
    null,
    "requests of one client that wait for answers",
    "no limit",
  ),
  poll: setting(
    duration({ least: 1000, most: 24 * 3_600_000 }),
    60_000,
    "time between two requests to a source for a new bundle, a tenth more or less",
  ),
};
