/** What /metrics says of the signatures of bundles. */

import type { MetricLine } from "../base/exposition.ts";
import { instantMs } from "../base/instant.ts";
import { expiryLines } from "../base/metric-families.ts";
import type { Claims } from "../bundles/trust/trust.ts";

/** As far as it is looked at. */
export interface SignedApplication {
  readonly application: { readonly name: string };
  readonly claims: Pick<Claims, "expiresAt"> | null;
}

/** None where no signature is asked for. */
export function signatureLines(served: readonly SignedApplication[]): MetricLine[] {
  return served.flatMap(({ application, claims }) => {
    if (claims === null) return [];
    const untilMs = instantMs(claims.expiresAt) ?? Number.POSITIVE_INFINITY;
    return expiryLines("signature", untilMs / 1000, { model: application.name });
  });
}
