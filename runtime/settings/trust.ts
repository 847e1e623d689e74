/** Required signatures of bundles, and the labels of this site. */
import { LABELS_EXPECTED, type Labels, labelsOf, labelsText } from "../bundles/trust/labels.ts";
import { type Kind, texts } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

const labels: Kind<Labels> = {
  sign: "<labels>",
  expected: LABELS_EXPECTED,
  read: labelsOf,
  write: labelsText,
};

export const TRUST = {
  requireSignature: setting(
    texts("<file>", "files of public keys"),
    null,
    "public key of a trusted signer; bundles must be signed by one (repeatable)",
    "no signature required",
  ),
  labels: setting(
    labels,
    null,
    "labels of this site, such as site=berlin,tier=edge, for bundles signed for some sites",
    "no labels",
  ),
};
