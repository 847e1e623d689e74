/** The decision log: what cores were told, what they decided, and what became of it. */
import { RuntimeError } from "../../base/errors.ts";
import { type Kind, share, text, texts } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";
import { isMask, MASK_CHOICES } from "./masked-fields.ts";

/** Of the receiver of decisions; a setting would be shown by --print-config. */
const TOKEN = "STRATAGEM_DECISION_TOKEN";

const fields = texts("<field>", `one of ${MASK_CHOICES.join(", ")}`);
const mask: Kind<readonly string[]> = {
  ...fields,
  read: (value) => {
    const found = fields.read(value);
    return found?.every(isMask) === true ? found : undefined;
  },
};

export const decisionLog = serverFeature({
  name: "decision log",
  title: "Decisions",
  settings: {
    decisionLog: setting(
      text("<place>", "a file, an http or https URL, or - for stdout"),
      null,
      "where decisions go, with their states and outcomes; - for stdout",
      "none",
    ),
    decisionSample: setting(
      share,
      1,
      "share of the requests that the decision log has; 100% has all that replaying them needs",
    ),
    decisionMask: setting(
      mask,
      null,
      "field that the decision log leaves out, or has by its digest; may be repeated",
      "none",
    ),
  },
  limits: {},
  open: async ({ decisionLog: place, decisionSample: sample, decisionMask: masked }, seams) => {
    if (place === null) {
      if (masked === null && sample === 1) return null;
      const found = masked === null ? "--decision-sample" : "--decision-mask";
      throw new RuntimeError("RUNTIME_USAGE", `expected --decision-log beside ${found}`);
    }
    const { openDecisionLog } = await import("./open-decision-log.ts");
    const token = seams.environment[TOKEN];
    const log = await openDecisionLog({ place, sample, mask: masked ?? [], token }, seams);
    const { followedBy } = await import("./followed-cores.ts");
    return { ...followedBy(log), close: () => log.close() };
  },
});
