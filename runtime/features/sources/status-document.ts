/** Status of policies and their sources, for administrators, fleets and Prometheus. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { LOOK_RESULTS, POLICY_STATES, type PolicyStatus } from "./policy-status.ts";
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
  const polls = "stratagem_policy_polls_total";
  const current = "stratagem_policy_source_state";
  const success = "stratagem_policy_last_success_timestamp_seconds";
  return [
    head(polls, "counter", "Polls of the source of a bundle, by result"),
    ...statuses.flatMap((status) =>
      LOOK_RESULTS.map((result) =>
        line(polls, { ...labelsOf(status), result }, status.countOf(result)),
      ),
    ),
    head(current, "gauge", "1 for the state of a source, 0 for the others"),
    ...statuses.flatMap((status) =>
      POLICY_STATES.map((state) =>
        line(current, { ...labelsOf(status), state }, status.state === state ? 1 : 0),
      ),
    ),
    head(success, "gauge", "When the server last followed what the source has; NaN before"),
    ...statuses.map((status) => line(success, labelsOf(status), seconds(status.successEpochMs))),
  ];
}

function labelsOf({ application }: PolicyStatus): { readonly model: string } {
  return { model: application ?? "" };
}

function seconds(epochMs: number | null): number {
  return epochMs === null ? Number.NaN : epochMs / 1000;
}
