/** Limits of `serve`: keys under `limits` in its file, and `--limit name=value`. */

import { bytes, count, duration } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../server/applications/limits.ts";

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
  maxBody: setting(bytes(), maxBodyBytes, "bytes of a request body, compressed and decompressed"),
  maxInFlight: setting(
    bytes(),
    maxBytesInFlight,
    "bytes of all unanswered requests; half for a token, a quarter for a connection",
  ),
  maxRows: setting(
    count({ least: 1, most: 2 ** 20 }),
    maxRows,
    "rows of a request, unless its model has a limit",
  ),
  maxPending: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "waiting and running rows of an application",
    "4096; for malleable pipelines at least 64 of their largest requests",
  ),
  maxSequences: setting(
    count({ least: 1, most: 2 ** 24 }),
    maxSequences,
    "open sequences of a model with state",
  ),
  maxSequenceBytes: setting(bytes(), maxSequenceBytes, "bytes of the states of all open sequences"),
  sequenceIdle: setting(time(), sequenceIdleMs, "time until an idle sequence is closed"),
  maxConnections: setting(count({ least: 1, most: 2 ** 20 }), maxConnections, "open connections"),
  maxPipelined: setting(
    count({ least: 1, most: 2 ** 16 }),
    maxPipelined,
    "unanswered requests of one connection",
  ),
  maxHeader: setting(
    bytes({ least: 1024, most: 2 ** 24 }),
    maxHeaderBytes,
    "bytes of a request line and header",
  ),
  maxHeaderFields: setting(
    count({ least: 1, most: 2 ** 16 }),
    maxHeaderFields,
    "fields of a request header",
  ),
  headerTimeout: setting(
    time(),
    headerTimeoutMs,
    "time until a header is complete, also on an idle new connection",
  ),
  bodyTimeout: setting(time(), bodyTimeoutMs, "time until a slow body is complete"),
  bodyWindow: setting(time(), bodyWindowMs, "period over which the rate of a body is measured"),
  minBodyRate: setting(bytes(), minBodyBytesPerS, "minimum rate of a body, bytes per second"),
  sendTimeout: setting(
    time(),
    sendTimeoutMs,
    "time until a client has received the next 64 KiB of its answer",
  ),
  maxUnsent: setting(bytes(), maxUnsentBytes, "unsent bytes of all answers"),
  maxUnsentPerConnection: setting(
    bytes(),
    maxUnsentBytesPerConnection,
    "unsent bytes of one connection with several answers",
  ),
  idleTimeout: setting(
    time(),
    idleTimeoutMs,
    "time that an idle connection stays open between requests",
  ),
  linger: setting(time(), lingerMs, "time to keep reading after a request was rejected"),
  drainDelay: setting(
    duration(),
    drainDelayMs,
    "time to go on serving as not ready before stopping, so that clients move to other servers",
  ),
  drainTimeout: setting(
    duration(),
    drainTimeoutMs,
    "time to wait for unanswered requests when stopping",
  ),
  grpcMaxMessage: setting(
    bytes(),
    null,
    "bytes of a received gRPC message",
    "the largest request of the models, at most maxBody",
  ),
  grpcMaxStreams: setting(
    count({ least: 1, most: 2 ** 20 }),
    256,
    "concurrent gRPC calls of one connection",
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
    "unanswered requests of one client",
    "no limit",
  ),
  poll: setting(
    duration({ least: 1000, most: 24 * 3_600_000 }),
    60_000,
    "time between two requests to a source for a new bundle, ±10 %",
  ),
};
