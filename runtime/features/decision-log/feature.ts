/** The decision log: events of the cores, their decisions, and the outcomes. */
import { RuntimeError } from "../../base/errors.ts";
import { type Kind, share, text, texts } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";
import { isMask, MASK_CHOICES } from "./masked-fields.ts";

/** Variable with the receiver's token; a setting would be shown by --print-config. */
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
      text("<destination>", "a file, an http or https URL, or - for stdout"),
      null,
      "destination of the decision log (decisions with states and outcomes); - for stdout",
      "none",
    ),
    decisionSample: setting(
      share,
      1,
      "share of the requests in the decision log; replay needs 100%",
    ),
    decisionMask: setting(
      mask,
      null,
      "field that the decision log omits or replaces by its digest; may be repeated",
      "none",
    ),
  },
  limits: {},
  open: async (
    { decisionLog: destination, decisionSample: sample, decisionMask: masked },
    context,
  ) => {
    if (destination === null) {
      if (masked === null && sample === 1) return null;
      const found = masked === null ? "--decision-sample" : "--decision-mask";
      throw new RuntimeError("RUNTIME_USAGE", `${found} needs --decision-log`);
    }
    const { openDecisionLog } = await import("./open-decision-log.ts");
    const token = context.environment[TOKEN];
    const log = await openDecisionLog({ destination, sample, mask: masked ?? [], token }, context);
    const { followedBy } = await import("./followed-cores.ts");
    return { ...followedBy(log), close: () => log.close() };
  },
});
