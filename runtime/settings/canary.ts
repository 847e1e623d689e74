/** Bundles that are tried beside those that are served. */
import { listOf, splitPoolDevice } from "./device-kinds.ts";
import { type Kind, share, text } from "./kinds.ts";
import { setting } from "./setting.ts";

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

export const CANARY = {
  canary: setting(
    canaries,
    null,
    "bundle that answers a share of the requests until it is taken or rolled back, such as new=5%",
    "none is tried",
  ),
  canaryGate: setting(
    text("<allowed>", "what may become worse, such as accuracy 0.5%; cost 5%, or none"),
    null,
    "what it may promise less than the bundle beside it, as gate --allow says it, or none",
    "its promises are not compared",
  ),
};
