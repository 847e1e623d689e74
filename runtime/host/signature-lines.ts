/** What /metrics says of the signatures of bundles. */

import { head, line, type MetricLine } from "../base/exposition.ts";
import { instantMs } from "../base/instant.ts";
import type { Claims } from "../bundles/trust/trust.ts";

/** As far as it is looked at. */
export interface SignedApplication {
  readonly application: { readonly name: string };
  readonly claims: Pick<Claims, "expiresAt"> | null;
}

const EXPIRES = "stratagem_signature_expires_timestamp_seconds";

/** None where no signature is asked for. */
export function signatureLines(served: readonly SignedApplication[]): MetricLine[] {
  const lines = served.flatMap(({ application, claims }) => {
    if (claims === null) return [];
    const untilMs = instantMs(claims.expiresAt) ?? Number.POSITIVE_INFINITY;
    return line(EXPIRES, { model: application.name }, untilMs / 1000);
  });
  if (lines.length === 0) return [];
  return [head(EXPIRES, "gauge", "When the signature of the bundle that decides ends"), ...lines];
}
