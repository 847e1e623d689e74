/** How policies stand with their sources, told to administrators, fleets and Prometheus. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { LOOK_RESULTS, type PolicyStatus } from "./policy-status.ts";
import type { Fault } from "./source-error.ts";
import type { Staged } from "./staging.ts";

/** As JSON has it. */
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

/** Of all policies that have a source. */
export function policyLines(statuses: readonly PolicyStatus[]): MetricLine[] {
  const gauge = (name: string, help: string, toldOf: (status: PolicyStatus) => number) => [
    head(name, "gauge", help),
    ...statuses.map((status) => line(name, labelsOf(status), toldOf(status))),
  ];
  const looks = "stratagem_policy_looks_total";
  const received = "stratagem_policy_received_bytes_total";
  return [
    head(looks, "counter", "Looks at the source of a bundle, by what they came to"),
    ...statuses.flatMap((status) =>
      LOOK_RESULTS.map((result) =>
        line(looks, { ...labelsOf(status), result }, status.countOf(result)),
      ),
    ),
    head(received, "counter", "Bytes of bundles and models that came from the source"),
    ...statuses.map((status) => line(received, labelsOf(status), status.byteCount)),
    ...gauge(
      "stratagem_policy_source_up",
      "1 unless the source could not be asked at the last look, or what it has could not be had",
      ({ away }) => (away === null ? 1 : 0),
    ),
    ...gauge(
      "stratagem_policy_refused",
      "1 while the source has a bundle that is refused, and the one before it stays",
      ({ refused }) => (refused === null ? 0 : 1),
    ),
    ...gauge(
      "stratagem_policy_serial",
      "Serial that the bundle that decides was signed with; NaN where signatures are not required",
      ({ inForce }) => inForce?.claims?.serial ?? Number.NaN,
    ),
    ...gauge(
      "stratagem_policy_last_answer_timestamp_seconds",
      "When the source last said what it has, seconds since 1970; NaN before the first time",
      ({ answerEpochMs }) => seconds(answerEpochMs),
    ),
    ...gauge(
      "stratagem_policy_last_success_timestamp_seconds",
      "When what the source has was last what decides, seconds since 1970; NaN before",
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
