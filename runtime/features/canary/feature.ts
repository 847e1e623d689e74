/** Canaries: bundles that are tried beside those that are served. */
import { RuntimeError } from "../../base/errors.ts";
import { listOf, splitPoolDevice } from "../../kinds/device-kinds.ts";
import { duration, type Kind, share, text } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { type FeatureSeams, type PromiseGate, serverFeature } from "../server-feature.ts";
import type { Canaries } from "./canaries.ts";

/** Limit `canaryGate`: no promise may become worse. */
const NOTHING = "none";
/** At half of the requests the two bundles are told apart soonest. */
const MOST_SHARE = 0.5;

const canaries: Kind<readonly string[]> = listOf({
  sign: "<bundle=shares>",
  expected: "a bundle and shares of the requests, such as new.msgpack=5% or new.msgpack=5%,25%",
  isOne: (text) => askedCanary(text) !== undefined,
});

/** Of `new.msgpack=5%,25%`; the path may have "=" in it. @returns undefined for what is none. */
export function askedCanary(
  text: string,
): { readonly policy: string; readonly shares: readonly number[] } | undefined {
  const { name: policy, value } = splitPoolDevice(text);
  const shares = value.split(",").flatMap((one) => share.read(one) ?? []);
  const isEach = shares.length === value.split(",").length;
  const isWithin = shares.every((one, index) => {
    return one > (shares[index - 1] ?? 0) && one <= MOST_SHARE;
  });
  return policy === "" || !isEach || !isWithin ? undefined : { policy, shares };
}

export const canary = serverFeature({
  name: "canary",
  title: "A bundle on trial",
  settings: {
    canary: setting(
      canaries,
      null,
      "bundle that answers a share of requests until it is taken or rolled back, such as new=5%",
      "none is tried",
    ),
  },
  limits: {
    canaryGate: setting(
      text("<allowed>", "what may become worse, such as accuracy 0.5%; cost 5%, or none"),
      null,
      "what a canary may promise less than the stable bundle, as gate --allow says it, or none",
      "its promises are not compared",
    ),
    canaryTime: setting(
      duration({ least: 1000 }),
      600_000,
      "least time that a canary is measured at each share",
    ),
    canaryTolerance: setting(
      share,
      0.005,
      "share of its requests that a canary may lose or answer late beyond the stable bundle",
    ),
  },
  open: async ({ canary, canaryGate, canaryTime, canaryTolerance }, { gateOf }) => {
    const asked = (canary ?? []).flatMap((one) => askedCanary(one) ?? []);
    const gate = await openedGate(canaryGate, gateOf);
    const rules = { timeMs: canaryTime, tolerance: canaryTolerance, gate };
    const [{ canaryRoute }, { trialLines }] = await Promise.all([
      import("./route.ts"),
      import("./trial-lines.ts"),
    ]);
    let open: Canaries | undefined;
    return {
      routes: [canaryRoute(() => open)],
      metricLines: (trials) => [...trialLines(trials), ...(open?.lines() ?? [])],
      serving: async (host) => {
        if (asked.length === 0) return;
        const { startCanaries } = await import("./canaries.ts");
        open = startCanaries(host, asked, rules);
      },
      stopping: () => open?.stop(),
      close: () => open?.close(),
    };
  },
});

/** @throws RuntimeError RUNTIME_USAGE */
async function openedGate(
  allowed: string | null,
  gateOf: FeatureSeams["gateOf"],
): Promise<PromiseGate | undefined> {
  if (allowed === null) return undefined;
  if (gateOf !== undefined) return gateOf(allowed === NOTHING ? null : allowed);
  const expected = "expected stratagem serve, whose package has the gate, got stratagem-runtime";
  throw new RuntimeError("RUNTIME_USAGE", `--limit canaryGate: ${expected}`);
}
