/** Status of policies and their sources, for administrators, fleets and Prometheus. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { LOOK_RESULTS, type PolicyStatus } from "./policy-status.ts";
import type { Fault } from "./source-error.ts";
import type { Staged } from "./staging.ts";

/** Encodes the status for JSON. */
export function statusDocument(status: PolicyStatus): object {
  const { application, source, state, inForce, refused, away, byteCount } = status;
  return {
    ...{ application, source, state },
    revision: inForce === null ? null : revisionDocument(inForce, status.inForceEpochMs),
    refused:
      refused === null
        ? null
        : {
            ...{ id: refused.id, sha256: refused.sha256, tries: refused.tries },
            ...{ at: instant(refused.epochMs), error: faultIn(refused) },
          },
    away:
      away === null
        ? null
        : { since: instant(away.epochMs), failures: away.failures, error: faultIn(away) },
    lastLook: instant(status.lookEpochMs),
    lastAnswer: instant(status.answerEpochMs),
    lastSuccess: instant(status.successEpochMs),
    bytes: byteCount,
  };
}

function revisionDocument({ revision, claims }: Staged, epochMs: number | null): object {
  return {
    ...{ id: revision.id, sha256: revision.sha256 },
    serial: claims?.serial ?? null,
    key: claims?.keyId ?? null,
    expiresAt: claims?.expiresAt ?? null,
    since: instant(epochMs),
  };
}

function faultIn({ code, message }: Fault): Fault {
  return { code, message };
}

function instant(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}

/** Metrics of all policies that have a source. */
export function policyLines(statuses: readonly PolicyStatus[]): MetricLine[] {
  const gauge = (name: string, help: string, read: (status: PolicyStatus) => number) => [
    head(name, "gauge", help),
    ...statuses.map((status) => line(name, labelsOf(status), read(status))),
  ];
  const looks = "stratagem_policy_looks_total";
  const received = "stratagem_policy_received_bytes_total";
  return [
    head(looks, "counter", "Polls of the source of a bundle, by result"),
    ...statuses.flatMap((status) =>
      LOOK_RESULTS.map((result) =>
        line(looks, { ...labelsOf(status), result }, status.countOf(result)),
      ),
    ),
    head(received, "counter", "Bytes of bundles and models received from the source"),
    ...statuses.map((status) => line(received, labelsOf(status), status.byteCount)),
    ...gauge(
      "stratagem_policy_source_up",
      "Whether the last poll of the source succeeded (1) or failed (0)",
      ({ away }) => (away === null ? 1 : 0),
    ),
    ...gauge(
      "stratagem_policy_refused",
      "Whether the source's bundle is rejected (1), so that the previous one stays in force",
      ({ refused }) => (refused === null ? 0 : 1),
    ),
    ...gauge(
      "stratagem_policy_serial",
      "Signed serial of the bundle in force; NaN if signatures are not required",
      ({ inForce }) => inForce?.claims?.serial ?? Number.NaN,
    ),
    ...gauge(
      "stratagem_policy_last_answer_timestamp_seconds",
      "Last successful poll of the source, seconds since 1970; NaN before the first",
      ({ answerEpochMs }) => seconds(answerEpochMs),
    ),
    ...gauge(
      "stratagem_policy_last_success_timestamp_seconds",
      "Last time the source's bundle was in force, seconds since 1970; NaN before",
      ({ successEpochMs }) => seconds(successEpochMs),
    ),
  ];
}

function labelsOf({ application }: PolicyStatus): { readonly model: string } {
  return { model: application ?? "" };
}

function seconds(epochMs: number | null): number {
  return epochMs === null ? Number.NaN : epochMs / 1000;
}
