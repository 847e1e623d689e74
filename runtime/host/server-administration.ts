/** Information and operations for the administrators of a server. */

import type { Notice } from "../base/notice.ts";
import { packageVersion } from "../base/version.ts";
import type { Claims } from "../bundles/trust/trust.ts";
import type { PolicySources } from "../features/sources/policy-sources.ts";
import { methodOf } from "../methods/registry.ts";
import type { Access } from "../server/access/access.ts";
import { HttpError, RETRY_LATER } from "../server/connections/http-error.ts";
import type { AdminHooks, Reloaded } from "../server/http/admin-hooks.ts";
import { ownNamesOf } from "./hosted-bundle.ts";
import { hardwareJson } from "./pool-hardware.ts";
import type { Reloading } from "./reloading.ts";
import type { ServerOptions } from "./server-options.ts";
import { devicesText } from "./serving-devices.ts";

interface AdminSurroundings {
  readonly options: ServerOptions;
  readonly access: Access;
  readonly sources: PolicySources | null;
}

/**
 * @param started returns what is administered. @throws HttpError 503 before the start is complete.
 */
export function adminOf(started: () => Reloading, around: AdminSurroundings): AdminHooks {
  const { options, access, sources } = around;
  const { config = () => ({}), onNotice = () => {} } = options;
  return {
    reload: async (name) => {
      const reloading = started();
      if (name !== undefined && !reloading.has(name)) return null;
      return reportReloaded(await reloading.reload(name), onNotice);
    },
    config,
    state: () => stateOf(started(), access),
    ...(sources === null ? {} : { policies: () => sources.document() }),
  };
}

/** @throws HttpError 503 for administrators while the first workers start. */
export function expectStarted(reloading: Reloading | undefined): Reloading {
  if (reloading !== undefined) return reloading;
  throw new HttpError(503, "the server is starting", RETRY_LATER);
}

/** State for administrators: the served bundles, and their signatures. */
function stateOf(reloading: Reloading, access: Access): object {
  return {
    version: packageVersion(),
    ready: reloading.hosted.every(({ application }) => application.endpoint.isReady),
    applications: reloading.hosted.map((one, place) => ({
      application: one.application.name,
      policy: one.policy,
      method: one.bundle.method,
      ready: one.application.endpoint.isReady,
      device: devicesText(one.workers.devices),
      hardware: hardwareJson(one.workers.hardware),
      workers: methodOf(one.bundle).workerCount(one.bundle),
      models: ownNamesOf(one),
      sha256: one.sha256,
      signature: one.claims === null ? null : signatureJson(one.claims),
      reload: reloading.resultAt(place),
    })),
    access: access.state(),
  };
}

/** Claims of a signature as administrators see them. */
function signatureJson({ keyId, serial, issuedAt, expiresAt, scope }: Claims): object {
  return { key: keyId, serial, issuedAt, expiresAt, scope };
}

function reportReloaded(reloaded: Reloaded, onNotice: Notice): Reloaded {
  onNotice(reloaded.notice, reloaded.isFollowed ? "info" : "error");
  return reloaded;
}
